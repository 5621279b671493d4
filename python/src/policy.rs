//! A policy that is written in Python, as the simulator sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use covey_core::{
    Answer, AnyPolicy, CoflowId, FlowId, LinkId, Plan, Policy, Promises, View, Wants,
};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::bad;
use crate::plan::{Level, PyPlan};
use crate::view::{PyView, show};

/// Whether a simulation is to stop, and the exception of a policy that is the reason.
#[derive(Debug, Default)]
pub struct Halt {
    stop: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Halt {
    /// Nobody wants the results any more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A policy has raised an exception.
    pub fn fail(&self, exception: PyErr) {
        let mut first = self.exception.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(exception);
        self.stop();
    }

    /// The first exception that a policy has raised, once.
    pub fn take(&self) -> Option<PyErr> {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An event that a class handles, or not: what does nothing need not be called.
struct Handler {
    name: Py<PyString>,
    is_there: bool,
}

/// The policy.
struct InPython {
    object: Py<PyAny>,
    view: Py<PyView>,
    plan: Py<PyPlan>,
    halt: Arc<Halt>,
    wants: Wants,
    promises: Promises,
    link_limits: Vec<f64>,
    coflow_arrived: Handler,
    flows_started: Handler,
    flow_restarted: Handler,
    flow_ended: Handler,
    port_drained: Handler,
    coflow_ended: Handler,
    bytes_reached: Handler,
    dag_bytes_reached: Handler,
    link_bytes_reached: Handler,
    flow_bytes_reached: Handler,
    woke: Handler,
}

/// The policy that an instance of `covey.Policy` is. Exceptions go to `halt`.
pub fn policy(object: &Bound<'_, PyAny>, halt: Arc<Halt>) -> PyResult<AnyPolicy> {
    let py = object.py();
    let base = py.import(intern!(py, "covey"))?.getattr(intern!(py, "Policy"))?;
    if !object.is_instance(&base)? {
        let kind = object.get_type();
        return Err(PyTypeError::new_err(format!("expected a covey.Policy, found {kind}")));
    }
    let knows: String = object.getattr(intern!(py, "knows"))?.extract()?;
    let is_sized = match knows.as_str() {
        "sized" => true,
        "unsized" => false,
        other => return Err(bad("knows", "sized or unsized", other)),
    };
    let handler = |name: &str| -> PyResult<Handler> {
        let is_there = !object.get_type().getattr(name)?.is(&base.getattr(name)?);
        Ok(Handler { name: PyString::intern(py, name).unbind(), is_there })
    };
    let flag = |name: &str| object.getattr(name)?.extract::<bool>();
    let flow_ended = handler("flow_ended")?;
    let port_drained = handler("port_drained")?;
    let made = InPython {
        object: object.clone().unbind(),
        view: Py::new(py, PyView)?,
        plan: Py::new(py, PyPlan::new(is_sized))?,
        halt,
        wants: Wants {
            flow_ends: flow_ended.is_there,
            port_drains: port_drained.is_there,
            attained: flag("wants_attained")?,
            sizes_only: false,
        },
        promises: Promises {
            conserves_work: flag("conserves_work")?,
            starves_nobody: flag("starves_nobody")?,
            is_local: flag("is_local")?,
        },
        link_limits: object.getattr("link_limits")?.extract()?,
        coflow_arrived: handler("coflow_arrived")?,
        flows_started: handler("flows_started")?,
        flow_restarted: handler("flow_restarted")?,
        flow_ended,
        port_drained,
        coflow_ended: handler("coflow_ended")?,
        bytes_reached: handler("bytes_reached")?,
        dag_bytes_reached: handler("dag_bytes_reached")?,
        link_bytes_reached: handler("link_bytes_reached")?,
        flow_bytes_reached: handler("flow_bytes_reached")?,
        woke: handler("woke")?,
    };
    Ok(if is_sized { AnyPolicy::Sized(Box::new(made)) } else { AnyPolicy::Unsized(Box::new(made)) })
}

impl InPython {
    /// Tells Python of an event; `told` is what comes before the view.
    fn tell<K: Level, A>(
        &self,
        handler: &Handler,
        view: &View<'_, K>,
        told: impl FnOnce(Py<PyView>) -> A,
    ) where
        A: for<'py> PyCallArgs<'py>,
    {
        if !handler.is_there || self.halt.is_stopped() {
            return;
        }
        self.attached(|py| {
            let told = told(self.view.clone_ref(py));
            let object = self.object.bind(py);
            show(K::seen(view), || object.call_method1(handler.name.bind(py), told))?;
            Ok(())
        });
    }

    /// Does something in Python; an exception stops the simulation.
    fn attached<R>(&self, act: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
        // Where Python has come to its end, nobody waits for results.
        let result = Python::try_attach(act);
        match result {
            Some(Ok(value)) => Some(value),
            Some(Err(exception)) => {
                self.halt.fail(exception);
                None
            }
            None => {
                self.halt.stop();
                None
            }
        }
    }
}

impl<K: Level> Policy<K> for InPython {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn promises(&self) -> Promises {
        self.promises
    }

    fn link_limits(&self) -> &[f64] {
        &self.link_limits
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.tell(&self.coflow_arrived, view, |shown| (coflow.0, shown));
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.tell(&self.flows_started, view, |shown| (coflow.0, shown));
    }

    fn flow_restarted(&mut self, flow: FlowId, view: &View<'_, K>) {
        self.tell(&self.flow_restarted, view, |shown| ((flow.coflow.0, flow.index), shown));
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, K>) {
        self.tell(&self.flow_ended, view, |shown| ((flow.coflow.0, flow.index), shown));
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, view: &View<'_, K>) {
        self.tell(&self.port_drained, view, |shown| (coflow.0, link.0, shown));
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.tell(&self.coflow_ended, view, |shown| (coflow.0, shown));
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.tell(&self.bytes_reached, view, |shown| (coflow.0, bytes, shown));
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, view: &View<'_, K>) {
        self.tell(&self.dag_bytes_reached, view, |shown| (external, bytes, shown));
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        bytes: f64,
        view: &View<'_, K>,
    ) {
        self.tell(&self.link_bytes_reached, view, |shown| (coflow.0, link.0, bytes, shown));
    }

    fn flow_bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.tell(&self.flow_bytes_reached, view, |shown| (coflow.0, bytes, shown));
    }

    fn woke(&mut self, view: &View<'_, K>) {
        self.tell(&self.woke, view, |shown| (shown,));
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if self.halt.is_stopped() {
            return Answer::Unchanged;
        }
        let answer = self.attached(|py| {
            let asked = self.plan.bind(py);
            asked.borrow_mut().clear();
            let arguments = (self.view.clone_ref(py), asked);
            let object = self.object.bind(py);
            let unchanged = show(K::seen(view), || {
                object.call_method1(intern!(py, "plan"), arguments)?.is_truthy()
            })?;
            if unchanged {
                return Ok(Answer::Unchanged);
            }
            let asked = asked.borrow();
            if let Some(stray) = asked.stray(view) {
                return Err(PyIndexError::new_err(format!("the plan: {stray}")));
            }
            asked.fill(plan);
            Ok(Answer::Replaced)
        });
        answer.unwrap_or(Answer::Unchanged)
    }
}
