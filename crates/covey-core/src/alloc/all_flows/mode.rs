//! The plan's one entry for all flows, if it has that.

use super::flow_fair_share::{FlowFairShare, Measure};
use super::flow_order::Precedence;
use super::priority_flows::PriorityFlows;
use super::priority_paths::PriorityPaths;
use super::running_flows::RunningFlows;
use crate::alloc::error::PlanError;
use crate::alloc::rates::BulkRates;
use crate::ids::CoflowId;
use crate::plan::{Group, Ranking, Rule};
use crate::state::State;

/// The rates of all flows as one group.
#[derive(Debug, Default)]
pub struct AllFlows {
    mode: Mode,
    fair: FlowFairShare,
    priority: PriorityFlows,
    paths: PriorityPaths,
}

/// How all flows are served as one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// They are not: the plan serves coflows.
    #[default]
    Off,
    Fair(Measure),
    Priority(Precedence),
    /// The same where paths have inner links.
    PriorityOnPaths(Precedence),
}

impl AllFlows {
    /// Whether the plan serves all flows as one group.
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// The plan serves coflows.
    pub fn turn_off(&mut self) {
        self.mode = Mode::Off;
    }

    /// The shares of all flows, if all are served alike or by size.
    pub fn fair(&self) -> Option<&FlowFairShare> {
        matches!(self.mode, Mode::Fair(_)).then_some(&self.fair)
    }

    /// The flows that run, if all are served in order of priority.
    pub fn running(&self) -> Option<&RunningFlows> {
        match self.mode {
            Mode::Priority(_) => Some(self.priority.running()),
            Mode::PriorityOnPaths(_) => Some(self.paths.running()),
            Mode::Off | Mode::Fair(_) => None,
        }
    }

    /// The same, to bring what is left of flows up to date.
    pub fn running_mut(&mut self) -> Option<&mut RunningFlows> {
        match self.mode {
            Mode::Priority(_) => Some(self.priority.running_mut()),
            Mode::PriorityOnPaths(_) => Some(self.paths.running_mut()),
            Mode::Off | Mode::Fair(_) => None,
        }
    }

    /// The rates, if the plan serves all flows as one group.
    pub fn rates(&self) -> Option<&dyn BulkRates> {
        match self.mode {
            Mode::Off => None,
            Mode::Fair(_) => Some(&self.fair),
            Mode::Priority(_) => Some(&self.priority),
            Mode::PriorityOnPaths(_) => Some(&self.paths),
        }
    }

    /// Begins to serve all flows as the one entry of a plan says, unless they are served so
    /// already. Returns whether that is new.
    ///
    /// # Errors
    /// When the entry is not the only one, or has a rule that is not for all flows, or one without an
    /// order while the fabric has inner links.
    pub fn turn_on(&mut self, state: &State, ranking: &Ranking) -> Result<bool, PlanError> {
        let fabric = state.fabric();
        let ports = fabric.ports() as usize;
        let mode = match ranking.entries.first().map(|(_, entry)| entry.rule) {
            Some(Rule::MaxMin) => Mode::Fair(Measure::Number),
            Some(Rule::BySize) => Mode::Fair(Measure::Size),
            Some(Rule::OldestFirst) => Mode::Priority(Precedence::Oldest),
            Some(Rule::ShortestFirst) => Mode::Priority(Precedence::Shortest),
            _ => return Err(PlanError::AllFlows),
        };
        let mode = match mode {
            _ if ranking.entries.len() != 1 => return Err(PlanError::AllFlows),
            mode if fabric.inner_links().is_empty() => mode,
            Mode::Priority(precedence) => Mode::PriorityOnPaths(precedence),
            _ => return Err(PlanError::AllFlows),
        };
        if std::mem::replace(&mut self.mode, mode) == mode {
            return Ok(false);
        }
        match mode {
            Mode::Off => {}
            Mode::Fair(measure) => self.fair.clear(measure, ports),
            Mode::Priority(precedence) => {
                self.priority.clear(precedence, ports, fabric.capacity());
            }
            Mode::PriorityOnPaths(precedence) => self.paths.clear(precedence, fabric.capacity()),
        }
        for &id in state.present() {
            let demand = state.coflow(id).demand();
            let positions = (0..demand.width()).map(|index| demand.position(index as u32));
            for p in positions.filter(|&p| demand.is_active(p)) {
                self.adjust(state, id, p, 1.0);
            }
        }
        Ok(true)
    }

    /// The flow at `position` has started (`by = 1`) or ended (`by = -1`).
    pub fn adjust(&mut self, state: &State, id: CoflowId, position: usize, by: f32) {
        match self.mode {
            Mode::Off => {}
            Mode::Fair(_) => {
                let (egress, ingress) = state.coflow(id).demand().end_links(position);
                let size = state.coflow(id).progress().size[position];
                self.fair.adjust(egress, ingress, size, by);
            }
            Mode::Priority(_) if by > 0.0 => self.priority.join(id, position),
            Mode::Priority(_) => self.priority.leave(state, id, position),
            Mode::PriorityOnPaths(_) if by > 0.0 => self.paths.join(id, position),
            Mode::PriorityOnPaths(_) => self.paths.leave(state, id, position),
        }
    }

    /// Works out the rates.
    pub fn share(&mut self, state: &State) {
        match self.mode {
            Mode::Off => {}
            Mode::Fair(_) => self.fair.fill(state.fabric().capacity()),
            Mode::Priority(_) => self.priority.advance(state),
            Mode::PriorityOnPaths(_) => self.paths.advance(state),
        }
    }
}

/// Whether a plan serves all flows as one group.
pub fn serves_all_flows(ranking: &Ranking) -> bool {
    ranking.entries.first().is_some_and(|(_, entry)| entry.group == Group::AllFlows)
}
