//! Which coflow an entry serves, and which part of the coflow's allocation it decides.

use super::super::error::PlanError;
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::state::{CoflowState, State};
use covey_core::{Entry, Group, Rank};

/// Which part of a coflow's allocation an entry decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationPart {
    /// What the coflow's own entry gives in the end.
    Main,
    /// What the coflow's own entry gives before backfill, or from the coflow's own shares of links.
    Provisional,
    /// What an entry for some of the coflow's flows gives, counted in the order of the plan.
    Subset(usize),
}

/// An entry at its place in the plan.
#[derive(Debug, Clone, Copy)]
pub struct PlacedEntry {
    pub rank: Rank,
    pub entry: Entry,
    pub which: AllocationPart,
}

impl PlacedEntry {
    /// The coflow that is served.
    pub fn coflow(&self) -> CoflowId {
        coflow_of(self.entry.group)
    }
}

/// The coflow that a group belongs to. All flows belong to none.
pub fn coflow_of(group: Group) -> CoflowId {
    match group {
        Group::Coflow(id) | Group::CoflowAt(id, _) => id,
        Group::Flow(flow) => flow.coflow,
        Group::AllFlows => CoflowId(u32::MAX),
    }
}

/// The state of the coflow that a group belongs to.
///
/// # Errors
/// When the group is of no coflow, or of one that is not present, or is a flow that does not exist.
pub fn checked(state: &State, group: Group) -> Result<&CoflowState, PlanError> {
    if group == Group::AllFlows {
        return Err(PlanError::AllFlows);
    }
    let id = coflow_of(group);
    if !state.is_present(id) {
        return Err(PlanError::Absent(id));
    }
    let coflow = state.coflow(id);
    match group {
        Group::Flow(flow) if flow.index as usize >= coflow.demand().width() => {
            Err(PlanError::Absent(id))
        }
        _ => Ok(coflow),
    }
}

/// Calls `visit` for each link of each active flow of a group that is a part of a coflow.
pub fn each_link(demand: &Demand, group: Group, mut visit: impl FnMut(usize)) {
    let links_of = |position: usize| demand.path(position).map(|l| demand.links()[l].index());
    match group {
        Group::AllFlows | Group::Coflow(_) => {}
        Group::CoflowAt(_, link) => {
            let crosses = |l: usize| demand.links()[l] == link;
            let here = demand.active().filter(|&p| demand.path(p).any(crosses));
            here.flat_map(links_of).for_each(visit);
        }
        Group::Flow(flow) => {
            let position = Some(demand.position(flow.index)).filter(|&p| demand.is_active(p));
            position.into_iter().flat_map(links_of).for_each(&mut visit);
        }
    }
}
