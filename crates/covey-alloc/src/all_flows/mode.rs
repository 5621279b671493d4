//! The plan's one entry for all flows, if it has that.

use super::flow_order::Precedence;
use super::priority_paths::PriorityPaths;
use super::running_flows::RunningFlows;
use crate::classes::class_shares::ClassShares;
use crate::error::PlanError;
use crate::measure::Measure;
use crate::rates::BulkRates;
use covey_core::CoflowId;
use covey_core::state::State;
use covey_core::{Group, Layers, Rank, Ranking, Rule};

/// The rates of all flows as one group.
#[derive(Debug, Default)]
pub struct AllFlows {
    mode: Mode,
    priority: PriorityPaths,
    classes: ClassShares,
    /// What has changed in a plan with classes since it was last read.
    edits: Vec<(Rank, Group)>,
}

/// How all flows are served as one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// The plan serves coflows, not all flows as one group.
    #[default]
    Off,
    /// One flow before the other.
    Priority(Precedence),
    /// In classes; one class if all flows are served alike or by their sizes.
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

    /// The flows that run, if all are served in order of priority.
    pub fn running(&self) -> Option<&RunningFlows> {
        matches!(self.mode, Mode::Priority(_)).then(|| self.priority.running())
    }

    /// The same, to bring what is left of flows up to date.
    pub fn running_mut(&mut self) -> Option<&mut RunningFlows> {
        matches!(self.mode, Mode::Priority(_)).then(|| self.priority.running_mut())
    }

    /// The rates, if all flows are served as one group or in classes.
    pub fn rates(&self) -> Option<&dyn BulkRates> {
        match self.mode {
            Mode::Off => None,
            Mode::Priority(_) => Some(&self.priority),
            Mode::Classes => Some(&self.classes),
        }
    }

    /// The classes, if all flows are served in classes.
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

    /// A coflow has left; or nothing that was found out about it holds any more. Returns whether
    /// the plan can still be read by its changes.
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
        let mode = match ranking.entries.first().map(|(_, entry)| entry.rule) {
            _ if ranking.layers == Layers::Classes => Mode::Classes,
            Some(Rule::MaxMin | Rule::BySize) => Mode::Classes,
            Some(Rule::OldestFirst) => Mode::Priority(Precedence::Oldest),
            Some(Rule::ShortestFirst) => Mode::Priority(Precedence::Shortest),
            _ => return Err(PlanError::AllFlows),
        };
        let is_alone = ranking.layers == Layers::Classes || ranking.entries.len() == 1;
        if !is_alone {
            return Err(PlanError::AllFlows);
        }
        let is_new = std::mem::replace(&mut self.mode, mode) != mode;
        match mode {
            Mode::Priority(precedence) if is_new => self.begin_priority(state, precedence),
            Mode::Classes => self.read_classes(state, ranking, is_new, is_new_plan)?,
            Mode::Priority(_) | Mode::Off => {}
        }
        Ok(is_new)
    }

    fn begin_priority(&mut self, state: &State, precedence: Precedence) {
        self.priority.clear(precedence, state.fabric().capacity());
        for &id in state.present() {
            let demand = state.coflow(id).demand();
            let positions = (0..demand.width()).map(|index| demand.position(index as u32));
            positions.filter(|&p| demand.is_active(p)).for_each(|p| self.priority.join(id, p));
        }
    }

    fn read_classes(
        &mut self,
        state: &State,
        ranking: &Ranking,
        is_new: bool,
        is_new_plan: bool,
    ) -> Result<(), PlanError> {
        let mut edits = std::mem::take(&mut self.edits);
        let measure = if serves_by_size(ranking) { Measure::Size } else { Measure::Number };
        if is_new || is_new_plan && self.classes.measure() != measure {
            self.classes.clear(measure, state.fabric().capacity());
        }
        if is_new || is_new_plan {
            self.classes.read_plan(state, ranking)?;
        } else {
            self.classes.read_edits(state, ranking, &edits)?;
        }
        edits.clear();
        self.edits = edits;
        Ok(())
    }

    /// The flow at `position` has started (`by = 1`) or ended (`by = -1`).
    pub fn adjust(&mut self, state: &State, id: CoflowId, position: usize, by: f32) {
        match self.mode {
            Mode::Off => {}
            Mode::Classes if by > 0.0 => self.classes.join(id, position),
            Mode::Classes => self.classes.leave(state, id, position),
            Mode::Priority(_) if by > 0.0 => self.priority.join(id, position),
            Mode::Priority(_) => self.priority.leave(state, id, position),
        }
    }

    /// Works out the rates.
    pub fn share(&mut self, state: &State) {
        match self.mode {
            Mode::Off => {}
            Mode::Priority(_) => self.priority.advance(state),
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
