//! Groups of a policy's own making, in Python: what is asked for is checked, written down, and
//! becomes a regrouping.

use std::collections::BTreeSet;

use covey_core::{Destination, FlowId, Lineage, Member, OwnGroup, Regrouping, Time};
use pyo3::prelude::*;

use crate::errors::InputError;
use crate::plan::number;
use crate::view::{Number, living_coflow, newcomer_numbers, now, unfinished_flow};

/// A group that begins in a regrouping. Then it is a coflow, which `Policy.regrouped` names.
#[pyclass(frozen, module = "covey")]
pub struct NewGroup {
    /// The call of `Policy.regroup` in which it begins.
    call: u64,
    place: u32,
}

/// A member of a group, in Python: the number of a newcomer, or a flow.
#[derive(FromPyObject)]
enum PyMember {
    Newcomer(Number),
    Flow((Number, Number)),
}

/// A group, in Python: one that begins, or a coflow.
#[derive(FromPyObject)]
enum PyGroup<'py> {
    New(Bound<'py, NewGroup>),
    Coflow(Number),
}

/// Which flows are put into which groups. Every flow may be put once.
#[pyclass(module = "covey", name = "Regrouping")]
#[derive(Default)]
pub struct PyRegrouping {
    /// Calls of `Policy.regroup` so far, and groups that have begun in all of them.
    calls: u64,
    groups: u32,
    begun: Vec<OwnGroup>,
    put: Vec<(Member, Destination)>,
    /// Newcomers that are put nowhere yet.
    waiting: BTreeSet<u64>,
    /// Other flows that were put.
    moved: BTreeSet<FlowId>,
}

impl PyRegrouping {
    /// Empties it for the next call, in which the view is shown.
    pub fn clear(&mut self) -> PyResult<()> {
        self.calls += 1;
        self.begun.clear();
        self.put.clear();
        self.moved.clear();
        self.waiting = newcomer_numbers()?;
        Ok(())
    }

    /// Adds what the Python code has put into this one.
    pub fn fill(&self, regrouping: &mut Regrouping) -> PyResult<()> {
        let with_flows: BTreeSet<Destination> = self.put.iter().map(|&(_, into)| into).collect();
        let is_empty = |place: &u32| !with_flows.contains(&Destination::Own(*place));
        if let Some(empty) = (0..self.begun.len() as u32).find(is_empty) {
            return Err(InputError::new_err(format!(
                "regroup: expected flows in every group that begins, found none in number {empty} of this call"
            )));
        }
        self.begun.iter().for_each(|&group| _ = regrouping.begin(group));
        self.put.iter().for_each(|&(member, into)| regrouping.put(member, into));
        Ok(())
    }
}

fn wrong(expected: &str, FlowId { coflow, index }: FlowId) -> PyErr {
    InputError::new_err(format!("{expected}, found ({}, {index})", coflow.0))
}

#[pymethods]
impl PyRegrouping {
    /// Begin a group, which must get flows in this call.
    ///
    /// `View.coflows` has it in the order of `arrival_s`, by default now.
    #[pyo3(signature = (*, arrival_s=None))]
    fn begin(&mut self, arrival_s: Option<f64>) -> PyResult<NewGroup> {
        let arrival = match arrival_s {
            Some(seconds) => Time::from_secs(number("arrival_s", "seconds", seconds)?),
            None => now()?,
        };
        let number = self.groups;
        let lineage = Lineage { external: number.into(), internal: 0 };
        self.groups += 1;
        self.begun.push(OwnGroup { number, arrival, lineage });
        Ok(NewGroup { call: self.calls, place: self.begun.len() as u32 - 1 })
    }

    /// Put a flow into a group: a newcomer by its number, or a flow of another group.
    fn put(&mut self, flow: PyMember, group: PyGroup<'_>) -> PyResult<()> {
        let into = match group {
            PyGroup::New(group) if group.get().call == self.calls => {
                Destination::Own(group.get().place)
            }
            PyGroup::New(_) => {
                let message = "group: expected one that begins in this call, found an earlier one: it is a coflow \
                    now, which Policy.regrouped has named";
                return Err(InputError::new_err(message));
            }
            PyGroup::Coflow(number) => Destination::Coflow(living_coflow(number)?),
        };
        let member = match flow {
            PyMember::Newcomer(number) => {
                let waiting =
                    u64::try_from(number).ok().filter(|number| self.waiting.remove(number));
                let Some(number) = waiting else {
                    return Err(InputError::new_err(format!(
                        "flow: expected the number of one of View.newcomers that is not put yet, found {number}"
                    )));
                };
                Member::Newcomer(number)
            }
            PyMember::Flow(flow) => {
                let flow = unfinished_flow(flow)?;
                if into == Destination::Coflow(flow.coflow) {
                    return Err(wrong("group: expected another one than that of the flow", flow));
                }
                if !self.moved.insert(flow) {
                    return Err(wrong("flow: expected one that is not put yet", flow));
                }
                Member::Flow(flow)
            }
        };
        self.put.push((member, into));
        Ok(())
    }
}
