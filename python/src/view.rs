//! What a policy may see, in Python.
//!
//! A Rust view borrows the simulator's state for the time of one call. While Python handles that call,
//! the view is kept in a place of the thread that is empty again afterwards, so that a `View` that
//! somebody has kept can show nothing.

use covey_core::{Clairvoyant, CoflowId, FlowId, NonClairvoyant, PortId, View};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;

use crate::errors::KnowledgeError;

/// A view of either level.
#[derive(Clone, Copy)]
pub enum Seen<'a> {
    Sized(View<'a, Clairvoyant>),
    Unsized(View<'a, NonClairvoyant>),
}

scoped_thread_local!(static SEEN: for<'a> Seen<'a>);

/// Calls Python with something to see.
pub fn show<R>(seen: Seen<'_>, call: impl FnOnce() -> R) -> R {
    SEEN.set(seen, call)
}

/// A flow as Python has it: the number of its coflow, and its own within that.
type Flow = (u32, u32);

/// The network at one moment, as far as the policy's level of knowledge grants it.
#[pyclass(frozen, module = "covey", name = "View")]
pub struct PyView;

fn seen<R>(look: impl FnOnce(Seen<'_>) -> PyResult<R>) -> PyResult<R> {
    if !SEEN.is_set() {
        let message = "a view shows something only during the call that it is an argument of";
        return Err(PyRuntimeError::new_err(message));
    }
    SEEN.with(look)
}

/// Looks at what every level grants.
macro_rules! all {
    ($view:ident => $look:expr) => {
        seen(|seen| match seen {
            Seen::Sized($view) => $look,
            Seen::Unsized($view) => $look,
        })
    };
}

/// Looks at what only the sized level grants.
fn sized<R>(what: &str, look: impl FnOnce(View<'_, Clairvoyant>) -> PyResult<R>) -> PyResult<R> {
    seen(|seen| match seen {
        Seen::Sized(view) => look(view),
        Seen::Unsized(_) => Err(KnowledgeError::new_err(format!(
            "an unsized policy has no View.{what}: sizes are not to be seen"
        ))),
    })
}

/// A coflow that can be asked about.
macro_rules! coflow {
    ($view:ident, $coflow:expr) => {
        if ($coflow as usize) < $view.slots() {
            CoflowId($coflow)
        } else {
            return Err(PyIndexError::new_err(format!("no coflow has the number {}", $coflow)));
        }
    };
}

/// A flow that can be asked about.
macro_rules! flow {
    ($view:ident, $flow:expr) => {{
        let (coflow, index) = $flow;
        let flow = FlowId { coflow: CoflowId(coflow), index };
        if !$view.has(flow) {
            return Err(PyIndexError::new_err(format!("no flow has the number {:?}", $flow)));
        }
        flow
    }};
}

/// The number of one of the network's ports.
macro_rules! port {
    ($view:ident, $port:expr) => {
        if $port < $view.fabric().ports() {
            PortId($port)
        } else {
            return Err(PyIndexError::new_err(format!("no port has the number {}", $port)));
        }
    };
}

fn pair(flow: FlowId) -> Flow {
    (flow.coflow.0, flow.index)
}

#[pymethods]
impl PyView {
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        all!(view => Ok(view.now().as_secs()))
    }

    #[getter]
    fn coflows(&self) -> PyResult<Vec<u32>> {
        all!(view => Ok(view.coflows().iter().map(|id| id.0).collect()))
    }

    #[getter]
    fn ports(&self) -> PyResult<u32> {
        all!(view => Ok(view.fabric().ports()))
    }

    /// By link.
    #[getter]
    fn capacity(&self) -> PyResult<Vec<f64>> {
        all!(view => Ok(view.fabric().capacity().to_vec()))
    }

    fn egress(&self, port: u32) -> PyResult<u32> {
        all!(view => Ok(view.fabric().egress(port!(view, port)).0))
    }

    fn ingress(&self, port: u32) -> PyResult<u32> {
        all!(view => Ok(view.fabric().ingress(port!(view, port)).0))
    }

    fn processor(&self, port: u32) -> PyResult<f64> {
        all!(view => Ok(view.processor(port!(view, port))))
    }

    fn arrival_s(&self, coflow: u32) -> PyResult<f64> {
        all!(view => Ok(view.arrival(coflow!(view, coflow)).as_secs()))
    }

    fn weight(&self, coflow: u32) -> PyResult<f64> {
        all!(view => Ok(view.weight(coflow!(view, coflow))))
    }

    fn deadline_s(&self, coflow: u32) -> PyResult<Option<f64>> {
        all!(view => Ok(view.deadline_s(coflow!(view, coflow))))
    }

    fn lineage(&self, coflow: u32) -> PyResult<(u64, u32)> {
        all!(view => {
            let lineage = view.lineage(coflow!(view, coflow));
            Ok((lineage.external, lineage.internal))
        })
    }

    fn inherited(&self, coflow: u32) -> PyResult<f64> {
        all!(view => Ok(view.inherited(coflow!(view, coflow))))
    }

    fn width(&self, coflow: u32) -> PyResult<usize> {
        all!(view => Ok(view.width(coflow!(view, coflow))))
    }

    fn unfinished(&self, coflow: u32) -> PyResult<usize> {
        all!(view => Ok(view.unfinished(coflow!(view, coflow))))
    }

    fn senders(&self, coflow: u32) -> PyResult<usize> {
        all!(view => Ok(view.senders(coflow!(view, coflow))))
    }

    fn receivers(&self, coflow: u32) -> PyResult<usize> {
        all!(view => Ok(view.receivers(coflow!(view, coflow))))
    }

    fn loads(&self, coflow: u32) -> PyResult<Vec<(u32, u32)>> {
        all!(view => {
            let loads = view.loads(coflow!(view, coflow));
            Ok(loads.map(|load| (load.link.0, load.unfinished)).collect())
        })
    }

    fn flows(&self, coflow: u32) -> PyResult<Vec<Flow>> {
        all!(view => Ok(view.flows(coflow!(view, coflow)).map(pair).collect()))
    }

    fn ends(&self, flow: Flow) -> PyResult<(u32, u32)> {
        all!(view => {
            let (egress, ingress) = view.ends(flow!(view, flow));
            Ok((egress.0, ingress.0))
        })
    }

    fn is_active(&self, flow: Flow) -> PyResult<bool> {
        all!(view => Ok(view.is_active(flow!(view, flow))))
    }

    fn finished_size(&self, flow: Flow) -> PyResult<Option<f64>> {
        all!(view => Ok(view.finished_size(flow!(view, flow))))
    }

    fn finished(&self, coflow: u32) -> PyResult<(usize, f64)> {
        all!(view => Ok(view.finished(coflow!(view, coflow))))
    }

    fn attained(&self, coflow: u32) -> PyResult<(f64, f64)> {
        all!(view => {
            let reported = view.attained(coflow!(view, coflow));
            Ok((reported.bytes, reported.as_of.as_secs()))
        })
    }

    fn size(&self, flow: Flow) -> PyResult<f64> {
        sized("size", |view| Ok(view.size(flow!(view, flow))))
    }

    fn left(&self, flow: Flow) -> PyResult<f64> {
        sized("left", |view| Ok(view.left(flow!(view, flow))))
    }

    fn raw_left(&self, flow: Flow) -> PyResult<f64> {
        sized("raw_left", |view| Ok(view.raw_left(flow!(view, flow))))
    }

    fn left_at(&self, coflow: u32) -> PyResult<Vec<(u32, f64)>> {
        sized("left_at", |view| {
            let left = view.left_at(coflow!(view, coflow));
            Ok(left.map(|(link, bytes)| (link.0, bytes)).collect())
        })
    }

    fn total(&self, coflow: u32) -> PyResult<f64> {
        sized("total", |view| Ok(view.total(coflow!(view, coflow))))
    }

    fn left_of(&self, coflow: u32) -> PyResult<f64> {
        sized("left_of", |view| Ok(view.left_of(coflow!(view, coflow))))
    }

    fn bottleneck_s(&self, coflow: u32) -> PyResult<f64> {
        sized("bottleneck_s", |view| Ok(view.bottleneck_s(coflow!(view, coflow))))
    }
}
