//! A policy that is written in Python, as the simulator sees it.

use std::cell::Cell;
use std::sync::Arc;

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Event, FlowId, Group, Knowledge, NonClairvoyant,
    Plan, Policy, Promises, Regrouping, Share, Unlabelled, View, Wants,
};
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::errors::{InputError, bad};
use crate::halt::Halt;
use crate::plan::{Level, PyPlan};
use crate::regrouping::PyRegrouping;
use crate::view::{PyView, show};

/// The method of a class for one event.
struct Handler {
    name: Py<PyString>,
    /// Whether the class has one of its own: that of the base class does nothing and need not be
    /// called.
    is_there: bool,
}

/// The methods of a class, one for each event.
struct Handlers {
    flows_arrived: Handler,
    regrouped: Handler,
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

impl Handlers {
    /// Those of the class of `object`, which is derived from `base`.
    fn of(object: &Bound<'_, PyAny>, base: &Bound<'_, PyAny>) -> PyResult<Handlers> {
        let handler = |name: &str| -> PyResult<Handler> {
            let is_there = !object.get_type().getattr(name)?.is(&base.getattr(name)?);
            Ok(Handler { name: PyString::intern(object.py(), name).unbind(), is_there })
        };
        Ok(Handlers {
            flows_arrived: handler("flows_arrived")?,
            regrouped: handler("regrouped")?,
            coflow_arrived: handler("coflow_arrived")?,
            flows_started: handler("flows_started")?,
            flow_restarted: handler("flow_restarted")?,
            flow_ended: handler("flow_ended")?,
            port_drained: handler("port_drained")?,
            coflow_ended: handler("coflow_ended")?,
            bytes_reached: handler("bytes_reached")?,
            dag_bytes_reached: handler("dag_bytes_reached")?,
            link_bytes_reached: handler("link_bytes_reached")?,
            flow_bytes_reached: handler("flow_bytes_reached")?,
            woke: handler("woke")?,
        })
    }
}

/// The policy.
struct InPython {
    object: Py<PyAny>,
    view: Py<PyView>,
    plan: Py<PyPlan>,
    regrouping: Py<PyRegrouping>,
    halt: Arc<Halt>,
    wants: Wants,
    link_thresholds: Vec<f64>,
    handlers: Handlers,
}

/// The policy that an instance of `covey.Policy` is. Exceptions go to `halt`.
pub fn policy(object: &Bound<'_, PyAny>, halt: Arc<Halt>) -> PyResult<AnyPolicy> {
    let py = object.py();
    let checks = py.import(intern!(py, "covey._policy"))?;
    checks.call_method1(intern!(py, "check_class"), (object,))?;
    let base = checks.getattr(intern!(py, "Policy"))?;
    let knows: String = object.getattr(intern!(py, "knows"))?.extract()?;
    let levels = [Clairvoyant::NAME, NonClairvoyant::NAME, Unlabelled::NAME];
    let Some(knows) = levels.into_iter().find(|level| *level == knows) else {
        return Err(bad("knows", "sized, unsized or unlabelled", &knows));
    };
    let flag = |name: &str| object.getattr(name)?.extract::<bool>();
    // A promise that is not a bool is an error, whether or not anybody asks for it.
    promises(object)?;
    let handlers = Handlers::of(object, &base)?;
    let made = InPython {
        object: object.clone().unbind(),
        view: Py::new(py, PyView)?,
        plan: Py::new(py, PyPlan::new(knows))?,
        regrouping: Py::new(py, PyRegrouping::default())?,
        halt,
        wants: Wants {
            flow_ends: handlers.flow_ended.is_there,
            port_drains: handlers.port_drained.is_there,
            attained: flag("wants_attained")?,
            // The view of Python has no such numbers.
            progress: false,
            sizes_only: false,
            regroups: knows == Unlabelled::NAME,
            in_turn: false,
            start_small: 0,
            communities: false,
        },
        link_thresholds: object.getattr("link_thresholds")?.extract()?,
        handlers,
    };
    Ok(match knows {
        Clairvoyant::NAME => AnyPolicy::Clairvoyant(Box::new(made)),
        NonClairvoyant::NAME => AnyPolicy::NonClairvoyant(Box::new(made)),
        _ => AnyPolicy::Unlabelled(Box::new(made)),
    })
}

/// What an instance of `covey.Policy` promises.
pub fn promises(object: &Bound<'_, PyAny>) -> PyResult<Promises> {
    let flag = |name: &str| object.getattr(name)?.extract::<bool>();
    Ok(Promises {
        conserves_work: flag("conserves_work")?,
        starves_nobody: flag("starves_nobody")?,
        is_local: flag("is_local")?,
    })
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
        if !handler.is_there {
            return;
        }
        self.compute(|py| {
            let told = told(self.view.clone_ref(py));
            let object = self.object.bind(py);
            show(K::seen(view), || object.call_method1(handler.name.bind(py), told))?;
            Ok(())
        });
    }

    /// Has Python compute something, unless the simulation is to stop. An exception stops it.
    fn compute<R>(&self, act: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
        if self.halt.is_stopped() {
            return None;
        }
        let computed = Python::try_attach(|py| {
            let thread = thread(py)?;
            if !self.halt.begin(thread) {
                return Ok(None);
            }
            let result = act(py);
            self.halt.end(thread);
            result.map(Some)
        });
        // Where Python has come to its end, nobody waits for results.
        match computed {
            Some(Ok(value)) => value,
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

/// Python's number of this thread, which never changes.
fn thread(py: Python<'_>) -> PyResult<u64> {
    thread_local!(static NUMBER: Cell<Option<u64>> = const { Cell::new(None) });
    if let Some(number) = NUMBER.get() {
        return Ok(number);
    }
    let number = py.import("threading")?.call_method0("get_ident")?.extract()?;
    NUMBER.set(Some(number));
    Ok(number)
}

/// Whether `plan` returned `covey.UNCHANGED`.
fn is_unchanged(returned: &Bound<'_, PyAny>) -> PyResult<bool> {
    if returned.is_none() {
        return Ok(false);
    }
    returned.cast::<PyBool>().map(|flag| flag.is_true()).map_err(|_| {
        let kind = returned.get_type();
        InputError::new_err(format!(
            "plan: expected None or covey.UNCHANGED as the answer, found {kind}: serve coflows with \
             plan.coflow(...) instead of returning them"
        ))
    })
}

impl<K: Level> Policy<K> for InPython {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn link_thresholds(&self) -> &[f64] {
        &self.link_thresholds
    }

    fn event(&mut self, event: Event, view: &View<'_, K>) {
        let on = &self.handlers;
        match event {
            Event::FlowsArrived => self.tell(&on.flows_arrived, view, |seen| (seen,)),
            Event::CoflowArrived(id) => self.tell(&on.coflow_arrived, view, |seen| (id.0, seen)),
            Event::FlowsStarted(id) => self.tell(&on.flows_started, view, |seen| (id.0, seen)),
            Event::FlowRestarted(flow) => {
                self.tell(&on.flow_restarted, view, |seen| (pair(flow), seen));
            }
            Event::FlowEnded(flow) => self.tell(&on.flow_ended, view, |seen| (pair(flow), seen)),
            Event::FlowMoved { from, to } => {
                if self.wants.flow_ends {
                    self.event(Event::FlowEnded(from), view);
                }
                if let Some(to) = to {
                    self.event(Event::FlowsStarted(to.coflow), view);
                }
            }
            Event::PortDrained(id, link) => {
                self.tell(&on.port_drained, view, |seen| (id.0, link.0, seen));
            }
            Event::CoflowEnded(id) => self.tell(&on.coflow_ended, view, |seen| (id.0, seen)),
            Event::BytesReached(id, bytes) => {
                self.tell(&on.bytes_reached, view, |seen| (id.0, bytes, seen));
            }
            Event::DagBytesReached(dag, bytes) => {
                self.tell(&on.dag_bytes_reached, view, |seen| (dag, bytes, seen));
            }
            Event::LinkBytesReached(id, link, bytes) => {
                self.tell(&on.link_bytes_reached, view, |seen| (id.0, link.0, bytes, seen));
            }
            Event::FlowBytesReached(id, bytes) => {
                self.tell(&on.flow_bytes_reached, view, |seen| (id.0, bytes, seen));
            }
            Event::Woke => self.tell(&on.woke, view, |seen| (seen,)),
        }
    }

    fn regroup(&mut self, view: &View<'_, K>, regrouping: &mut Regrouping) {
        self.compute(|py| {
            let asked = self.regrouping.bind(py);
            let arguments = (self.view.clone_ref(py), asked);
            let object = self.object.bind(py);
            show(K::seen(view), || {
                asked.borrow_mut().clear()?;
                object.call_method1(intern!(py, "regroup"), arguments)
            })?;
            asked.borrow().fill(regrouping)
        });
    }

    fn regrouped(&mut self, flows: &[FlowId], view: &View<'_, K>) {
        self.tell(&self.handlers.regrouped, view, |seen| {
            (flows.iter().map(|&flow| pair(flow)).collect::<Vec<_>>(), seen)
        });
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        let answer = self.compute(|py| {
            let asked = self.plan.bind(py);
            asked.borrow_mut().clear();
            let arguments = (self.view.clone_ref(py), asked);
            let object = self.object.bind(py);
            let plan_method = intern!(py, "plan");
            let returned = show(K::seen(view), || object.call_method1(plan_method, arguments))?;
            if is_unchanged(&returned)? {
                return Ok(Answer::Unchanged);
            }
            asked.borrow().fill(plan);
            Ok(Answer::Replaced)
        });
        match answer {
            Some(answer) => answer,
            None if self.halt.has_failed() => impossible(plan),
            None => Answer::Unchanged,
        }
    }
}

/// A flow as Python sees it: its coflow, and its index in the coflow.
fn pair(flow: FlowId) -> (u32, u32) {
    (flow.coflow.0, flow.index)
}

/// A plan that cannot be carried out: it ends the simulation at once, and as a failure.
fn impossible<K: Level>(plan: &mut Plan<K>) -> Answer {
    plan.clear();
    plan.push(Group::Coflow(CoflowId(u32::MAX)), Share::MAX_MIN);
    Answer::Replaced
}
