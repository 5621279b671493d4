//! What a policy may see, in Python.
//!
//! A Rust view borrows the simulator's state for the time of one call. While Python handles that
//! call, the view is kept in a place of the thread that is empty again afterwards, so that a `View`
//! that somebody has kept can show nothing.

use std::collections::BTreeSet;
use std::fmt::Debug;

use covey_core::{
    Clairvoyant, CoflowId, FlowId, Knowledge, LinkId, NonClairvoyant, Observed, PortId, Time,
    Unlabelled, View,
};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;

use crate::errors::KnowledgeError;

/// A view of any level.
#[derive(Clone, Copy)]
pub enum Seen<'a> {
    Sized(View<'a, Clairvoyant>),
    Unsized(View<'a, NonClairvoyant>),
    Unlabelled(View<'a, Unlabelled>),
}

scoped_thread_local!(static SEEN: for<'a> Seen<'a>);

/// Calls Python with something to see.
pub fn show<R>(seen: Seen<'_>, call: impl FnOnce() -> R) -> R {
    SEEN.set(seen, call)
}

/// A number that Python gives; it may be that of nothing.
pub type Number = i64;

/// A flow as Python has it: the number of its coflow, and its own within that.
type Flow = (u32, u32);

/// The network at one time, as far as the policy's level of knowledge grants it.
///
/// It shows something only during the call that it is an argument of.
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
            Seen::Unlabelled($view) => $look,
        })
    };
}

/// Looks at what applications say of coflows.
macro_rules! named {
    ($what:literal, $view:ident => $look:expr) => {
        seen(|seen| match seen {
            Seen::Sized($view) => $look,
            Seen::Unsized($view) => $look,
            Seen::Unlabelled(_) => Err(none(
                Unlabelled::NAME,
                $what,
                "its coflows are groups of its own, of which applications say nothing",
            )),
        })
    };
}

/// The error for what a level of knowledge does not grant.
fn none(knows: &str, what: &str, why: &str) -> PyErr {
    let article = if knows == Clairvoyant::NAME { "a" } else { "an" };
    KnowledgeError::new_err(format!("{article} {knows} policy has no View.{what}: {why}"))
}

/// Looks at what only the sized level grants.
fn sized<R>(what: &str, look: impl FnOnce(View<'_, Clairvoyant>) -> PyResult<R>) -> PyResult<R> {
    seen(|seen| match seen {
        Seen::Sized(view) => look(view),
        Seen::Unsized(_) => Err(none(NonClairvoyant::NAME, what, UNSEEN)),
        Seen::Unlabelled(_) => Err(none(Unlabelled::NAME, what, UNSEEN)),
    })
}

/// Why there are no sizes.
const UNSEEN: &str = "sizes are not to be seen";

/// Looks at what only the unlabelled level grants.
fn unlabelled<R>(
    what: &str,
    look: impl FnOnce(View<'_, Unlabelled>) -> PyResult<R>,
) -> PyResult<R> {
    const WHY: &str = "it sees the coflows to which flows belong";
    seen(|seen| match seen {
        Seen::Unlabelled(view) => look(view),
        Seen::Sized(_) => Err(none(Clairvoyant::NAME, what, WHY)),
        Seen::Unsized(_) => Err(none(NonClairvoyant::NAME, what, WHY)),
    })
}

/// The error for a number of nothing.
fn no(what: &str, number: impl Debug, those: &str) -> PyErr {
    PyIndexError::new_err(format!("no {what} has the number {number:?}: {those}"))
}

fn below(number: Number, end: usize) -> Option<u32> {
    u32::try_from(number).ok().filter(|&number| (number as usize) < end)
}

/// The coflow of a number.
fn coflow_of<K: Knowledge>(view: &View<'_, K>, number: Number) -> PyResult<CoflowId> {
    below(number, view.slots())
        .map(CoflowId)
        .ok_or_else(|| no("coflow", number, "View.coflows has those that are present"))
}

/// The flow of a pair of numbers.
fn flow_of<K: Knowledge>(view: &View<'_, K>, number: (Number, Number)) -> PyResult<FlowId> {
    let pair = u32::try_from(number.0).ok().zip(u32::try_from(number.1).ok());
    pair.map(|(coflow, index)| FlowId { coflow: CoflowId(coflow), index })
        .filter(|&flow| view.has(flow))
        .ok_or_else(|| no("flow", number, "View.flows has those of a coflow"))
}

/// The port of a number.
fn port_of<K: Knowledge>(view: &View<'_, K>, number: Number) -> PyResult<PortId> {
    let ports = view.fabric().ports();
    let those = || no("port", number, &format!("there are {ports}, from 0"));
    below(number, ports as usize).map(PortId).ok_or_else(those)
}

/// The coflow that a plan names.
pub fn present_coflow(number: Number) -> PyResult<CoflowId> {
    all!(view => coflow_of(&view, number))
}

/// The flow that a plan names.
pub fn present_flow(number: (Number, Number)) -> PyResult<FlowId> {
    all!(view => flow_of(&view, number))
}

/// The link that a plan names.
pub fn present_link(number: Number) -> PyResult<LinkId> {
    all!(view => {
        let links = view.fabric().links();
        let those = || no("link", number, &format!("there are {links}, from 0"));
        below(number, links).map(LinkId).ok_or_else(those)
    })
}

/// The coflow of a number, which has not ended.
pub fn living_coflow(number: Number) -> PyResult<CoflowId> {
    all!(view => {
        let coflow = coflow_of(&view, number)?;
        let is_present = view.is_present(coflow);
        is_present.then_some(coflow).ok_or_else(|| no("coflow that is present", number, "it has ended"))
    })
}

/// The flow of a pair of numbers, which has not ended.
pub fn unfinished_flow(number: (Number, Number)) -> PyResult<FlowId> {
    all!(view => {
        let flow = flow_of(&view, number)?;
        let is_active = view.is_active(flow);
        is_active.then_some(flow).ok_or_else(|| no("unfinished flow", number, "it has ended"))
    })
}

/// The present time.
pub fn now() -> PyResult<Time> {
    all!(view => Ok(view.now()))
}

/// The numbers of the flows that are in no group.
pub fn newcomer_numbers() -> PyResult<BTreeSet<u64>> {
    unlabelled("newcomers", |view| Ok(view.newcomers().map(|(number, _)| number).collect()))
}

/// A flow that belongs to no group yet, as a host sees it.
#[pyclass(frozen, module = "covey")]
pub struct Newcomer {
    number: u64,
    observed: Observed,
}

#[pymethods]
impl Newcomer {
    /// Its number, which is that of no other flow.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    /// When it has started.
    #[getter]
    fn start_s(&self) -> f64 {
        self.observed.start_s
    }

    /// Address of the host that sends; the number of a port of the trace if no address is known.
    #[getter]
    fn src(&self) -> String {
        self.observed.src.to_string()
    }

    /// Address of the host that receives.
    #[getter]
    fn dst(&self) -> String {
        self.observed.dst.to_string()
    }

    /// The sender's transport port; 0 if it is unknown.
    #[getter]
    fn sport(&self) -> u16 {
        self.observed.sport
    }

    /// The receiver's transport port; 0 if it is unknown.
    #[getter]
    fn dport(&self) -> u16 {
        self.observed.dport
    }

    /// Number of the transport protocol: 6 is TCP, 17 UDP.
    #[getter]
    fn protocol(&self) -> u8 {
        self.observed.protocol
    }
}

fn pair(flow: FlowId) -> Flow {
    (flow.coflow.0, flow.index)
}

#[pymethods]
impl PyView {
    /// The present time.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        all!(view => Ok(view.now().as_secs()))
    }

    /// Coflows present, in order of arrival; ties in the order of the trace.
    #[getter]
    fn coflows(&self) -> PyResult<Vec<u32>> {
        all!(view => Ok(view.coflows().iter().map(|id| id.0).collect()))
    }

    /// Flows that are in no group yet, in order of their starts; for unlabelled policies.
    #[getter]
    fn newcomers(&self) -> PyResult<Vec<Newcomer>> {
        unlabelled("newcomers", |view| {
            let newcomers = view.newcomers();
            Ok(newcomers.map(|(number, &observed)| Newcomer { number, observed }).collect())
        })
    }

    /// Number of ports.
    #[getter]
    fn ports(&self) -> PyResult<u32> {
        all!(view => Ok(view.fabric().ports()))
    }

    /// Capacity of each link, in bytes per second.
    #[getter]
    fn capacity(&self) -> PyResult<Vec<f64>> {
        all!(view => Ok(view.fabric().capacity().to_vec()))
    }

    /// Give the link out of a port.
    fn egress(&self, port: Number) -> PyResult<u32> {
        all!(view => Ok(view.fabric().egress(port_of(&view, port)?).0))
    }

    /// Give the link into a port.
    fn ingress(&self, port: Number) -> PyResult<u32> {
        all!(view => Ok(view.fabric().ingress(port_of(&view, port)?).0))
    }

    /// Share of a port's processor, 0 to 1, that is there for compressing.
    fn processor(&self, port: Number) -> PyResult<f64> {
        all!(view => Ok(view.processor(port_of(&view, port)?)))
    }

    /// When it arrived.
    fn arrival_s(&self, coflow: Number) -> PyResult<f64> {
        all!(view => Ok(view.arrival(coflow_of(&view, coflow)?).as_secs()))
    }

    /// Weight in a weighted mean of completion times; 1 unless given.
    fn weight(&self, coflow: Number) -> PyResult<f64> {
        named!("weight", view => Ok(view.weight(coflow_of(&view, coflow)?)))
    }

    /// Time allowed from arrival to completion, if any.
    fn deadline_s(&self, coflow: Number) -> PyResult<Option<f64>> {
        named!("deadline_s", view => Ok(view.deadline_s(coflow_of(&view, coflow)?)))
    }

    /// Give the number of its DAG, and its own among the coflows that it depends on.
    fn lineage(&self, coflow: Number) -> PyResult<(u64, u32)> {
        named!("lineage", view => {
            let lineage = view.lineage(coflow_of(&view, coflow)?);
            Ok((lineage.external, lineage.internal))
        })
    }

    /// Bytes that coflows of the same DAG which had ended when this one arrived had sent.
    fn inherited(&self, coflow: Number) -> PyResult<f64> {
        named!("inherited", view => Ok(view.inherited(coflow_of(&view, coflow)?)))
    }

    /// Count the flows started so far.
    fn width(&self, coflow: Number) -> PyResult<usize> {
        all!(view => Ok(view.width(coflow_of(&view, coflow)?)))
    }

    /// Count the flows that have started and not ended.
    fn unfinished(&self, coflow: Number) -> PyResult<usize> {
        all!(view => Ok(view.unfinished(coflow_of(&view, coflow)?)))
    }

    /// Count the ports from which it sends, finished flows included.
    fn senders(&self, coflow: Number) -> PyResult<usize> {
        all!(view => Ok(view.senders(coflow_of(&view, coflow)?)))
    }

    /// Count the ports at which it receives, finished flows included.
    fn receivers(&self, coflow: Number) -> PyResult<usize> {
        all!(view => Ok(view.receivers(coflow_of(&view, coflow)?)))
    }

    /// Links it uses, with the number of its unfinished flows there.
    fn loads(&self, coflow: Number) -> PyResult<Vec<(u32, u32)>> {
        all!(view => {
            let loads = view.loads(coflow_of(&view, coflow)?);
            Ok(loads.map(|load| (load.link.0, load.unfinished)).collect())
        })
    }

    /// Give its unfinished flows, sender by sender.
    fn flows(&self, coflow: Number) -> PyResult<Vec<Flow>> {
        all!(view => Ok(view.flows(coflow_of(&view, coflow)?).map(pair).collect()))
    }

    /// Give the links (egress, ingress) at the two ends of a flow.
    fn ends(&self, flow: (Number, Number)) -> PyResult<(u32, u32)> {
        all!(view => {
            let (egress, ingress) = view.ends(flow_of(&view, flow)?);
            Ok((egress.0, ingress.0))
        })
    }

    /// Give the number of a flow, which stays the same when it goes to another group.
    fn flow_number(&self, flow: (Number, Number)) -> PyResult<u64> {
        all!(view => Ok(view.flow_number(flow_of(&view, flow)?)))
    }

    /// Whether a flow has started and not ended.
    fn is_active(&self, flow: (Number, Number)) -> PyResult<bool> {
        all!(view => Ok(view.is_active(flow_of(&view, flow)?)))
    }

    /// Size in bytes of a flow that has ended; None while it has not.
    fn finished_size(&self, flow: (Number, Number)) -> PyResult<Option<f64>> {
        all!(view => Ok(view.finished_size(flow_of(&view, flow)?)))
    }

    /// Number of its flows that have ended, and their bytes.
    fn finished(&self, coflow: Number) -> PyResult<(usize, f64)> {
        all!(view => Ok(view.finished(coflow_of(&view, coflow)?)))
    }

    /// Bytes it has sent as last reported, and when that was true in seconds.
    fn attained(&self, coflow: Number) -> PyResult<(f64, f64)> {
        all!(view => {
            let reported = view.attained(coflow_of(&view, coflow)?);
            Ok((reported.bytes, reported.as_of.as_secs()))
        })
    }

    /// Size in bytes; for sized policies.
    fn size(&self, flow: (Number, Number)) -> PyResult<f64> {
        sized("size", |view| Ok(view.size(flow_of(&view, flow)?)))
    }

    /// Bytes left, 0 when it has ended; for sized policies.
    fn left(&self, flow: (Number, Number)) -> PyResult<f64> {
        sized("left", |view| Ok(view.left(flow_of(&view, flow)?)))
    }

    /// Raw bytes among those left; for sized policies.
    fn raw_left(&self, flow: (Number, Number)) -> PyResult<f64> {
        sized("raw_left", |view| Ok(view.raw_left(flow_of(&view, flow)?)))
    }

    /// Links and bytes left there, in the order of `loads`; for sized policies.
    fn left_at(&self, coflow: Number) -> PyResult<Vec<(u32, f64)>> {
        sized("left_at", |view| {
            let left = view.left_at(coflow_of(&view, coflow)?);
            Ok(left.map(|(link, bytes)| (link.0, bytes)).collect())
        })
    }

    /// Bytes of all flows, those that are yet to start included; for sized policies.
    fn total(&self, coflow: Number) -> PyResult<f64> {
        sized("total", |view| Ok(view.total(coflow_of(&view, coflow)?)))
    }

    /// Bytes left of all started flows; for sized policies.
    fn left_of(&self, coflow: Number) -> PyResult<f64> {
        sized("left_of", |view| Ok(view.left_of(coflow_of(&view, coflow)?)))
    }

    /// Seconds that the rest takes when it is alone (Varys 5.1); for sized policies.
    fn bottleneck_s(&self, coflow: Number) -> PyResult<f64> {
        sized("bottleneck_s", |view| Ok(view.bottleneck_s(coflow_of(&view, coflow)?)))
    }
}
