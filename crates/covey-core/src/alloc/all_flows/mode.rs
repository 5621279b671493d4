//! The plan's one entry for all flows, if it has that.

use super::flow_fair_share::FlowFairShare;
use super::flow_order::Precedence;
use super::priority_flows::PriorityFlows;
use super::priority_paths::PriorityPaths;
use super::running_flows::RunningFlows;
use crate::alloc::classes::class_shares::ClassShares;
use crate::alloc::error::PlanError;
use crate::alloc::measure::Measure;
use crate::alloc::rates::BulkRates;
use crate::ids::CoflowId;
use crate::plan::{Group, Layers, Rank, Ranking, Rule};
use crate::state::State;

/// The rates of all flows as one group.
#[derive(Debug, Default)]
pub struct AllFlows {
    mode: Mode,
    fair: FlowFairShare,
    priority: PriorityFlows,
    paths: PriorityPaths,
    classes: ClassShares,
    /// What has changed in a plan with classes since it was last read.
    edits: Vec<(Rank, Group)>,
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
    Classes,
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
            Mode::Off | Mode::Fair(_) | Mode::Classes => None,
        }
    }

    /// The same, to bring what is left of flows up to date.
    pub fn running_mut(&mut self) -> Option<&mut RunningFlows> {
        match self.mode {
            Mode::Priority(_) => Some(self.priority.running_mut()),
            Mode::PriorityOnPaths(_) => Some(self.paths.running_mut()),
            Mode::Off | Mode::Fair(_) | Mode::Classes => None,
        }
    }

    /// The rates, if all flows are served as one group or in classes.
    pub fn rates(&self) -> Option<&dyn BulkRates> {
        match self.mode {
            Mode::Off => None,
            Mode::Fair(_) => Some(&self.fair),
            Mode::Priority(_) => Some(&self.priority),
            Mode::PriorityOnPaths(_) => Some(&self.paths),
            Mode::Classes => Some(&self.classes),
        }
    }

    /// All flows in classes, if they are served so.
    pub fn classes(&self) -> Option<&ClassShares> {
        (self.mode == Mode::Classes).then_some(&self.classes)
    }

    /// Takes what has changed in a plan that is kept, if it can be read by its changes.
    pub fn take_edits(&mut self, edits: &[(Rank, Group)]) -> bool {
        if self.mode == Mode::Classes {
            self.edits.extend_from_slice(edits);
        }
        self.mode == Mode::Classes
    }

    /// A coflow has left; or nothing that was found out about it holds any more. Returns whether the plan can
    /// still be read by its changes.
    pub fn forget(&mut self, state: &State, id: CoflowId) -> bool {
        if self.mode == Mode::Classes {
            self.classes.forget(state, id);
        }
        self.mode == Mode::Classes
    }

    /// Begins to serve all flows as the one entry of a plan says, unless they are served so
    /// already. Returns whether that is new.
    ///
    /// # Errors
    /// When the entry is not the only one, or has a rule that is not for all flows.
    pub fn turn_on(
        &mut self,
        state: &State,
        ranking: &Ranking,
        is_new_plan: bool,
    ) -> Result<bool, PlanError> {
        let fabric = state.fabric();
        let ports = fabric.ports() as usize;
        let in_order = match fabric.inner_links().is_empty() {
            true => Mode::Priority,
            false => Mode::PriorityOnPaths,
        };
        let mode = match ranking.entries.first().map(|(_, entry)| entry.rule) {
            _ if ranking.layers == Layers::Classes => Mode::Classes,
            Some(Rule::MaxMin) if !fabric.inner_links().is_empty() => Mode::Classes,
            Some(Rule::MaxMin) => Mode::Fair(Measure::Number),
            Some(Rule::BySize) if !fabric.inner_links().is_empty() => Mode::Classes,
            Some(Rule::BySize) => Mode::Fair(Measure::Size),
            Some(Rule::OldestFirst) => in_order(Precedence::Oldest),
            Some(Rule::ShortestFirst) => in_order(Precedence::Shortest),
            _ => return Err(PlanError::AllFlows),
        };
        let is_alone = ranking.layers == Layers::Classes || ranking.entries.len() == 1;
        if !is_alone {
            return Err(PlanError::AllFlows);
        }
        let is_new_mode = std::mem::replace(&mut self.mode, mode) != mode;
        if mode == Mode::Classes {
            let edits = std::mem::take(&mut self.edits);
            let is_by_size = serves_by_size(ranking);
            let measure = if is_by_size { Measure::Size } else { Measure::Number };
            let is_new_measure = is_new_plan && self.classes.measure() != measure;
            if is_new_mode || is_new_measure {
                self.classes.clear(measure, fabric.capacity());
            }
            if is_new_mode || is_new_plan {
                self.classes.read_plan(state, ranking)?;
            } else {
                self.classes.read_edits(state, ranking, &edits)?;
            }
            self.edits = edits;
            self.edits.clear();
            return Ok(is_new_mode);
        }
        if !is_new_mode {
            return Ok(false);
        }
        match mode {
            Mode::Off | Mode::Classes => {}
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
            Mode::Classes if by > 0.0 => self.classes.join(id, position),
            Mode::Classes => self.classes.leave(state, id, position),
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
            Mode::Classes => self.classes.share(state),
        }
    }
}

/// Whether a plan divides links by the sizes of all flows.
fn serves_by_size(ranking: &Ranking) -> bool {
    ranking.layers != Layers::Classes
        && ranking.entries.first().is_some_and(|(_, entry)| entry.rule == Rule::BySize)
}

/// Whether a plan serves all flows as one group, or in classes.
pub fn serves_all_flows(ranking: &Ranking) -> bool {
    let first = ranking.entries.first();
    ranking.layers == Layers::Classes
        || first.is_some_and(|(_, entry)| entry.group == Group::AllFlows)
}
