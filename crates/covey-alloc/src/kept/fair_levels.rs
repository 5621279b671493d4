//! Max-min fair levels of one entry, after a small change.
//!
//! After a flow has ended or a link's capacity has changed, few levels change. Those of a coflow are
//! [kept](super::kept_levels) from one decision to the next once they have been filled some times,
//! and only what is out of balance is worked out again.

use super::changes::Changes;
use super::kept_levels::KeptLevels;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::state::CoflowState;

/// How often each flow of a coflow is filled before levels are kept. With 8, `coda` on
/// every fifth coflow of the Facebook trace, `fat-tree:k=8`, takes 3.9 instead of 3.4 G instructions, and `aalo` 2.2
/// instead of 2.0 G.
const FILLED_PER_FLOW: u64 = 2;

/// What is remembered of levels that are max-min fair, and how the last decision changed them.
#[derive(Debug, Default)]
pub struct FairLevels {
    /// The flows to which the levels are fair, if they are.
    flows: Option<FairTo>,
    changes: Vec<u32>,
    /// Whether `changes` are all links that have another level since the previous decision.
    tells_changes: bool,
    /// What goes on from one decision to the next; made when levels are first kept.
    memory: Option<Box<KeptLevels>>,
    /// Whether levels are kept.
    keeps: bool,
    /// Number of flows that got a rate, added up over all decisions, since levels were last begun to be kept.
    filled: u64,
}

/// All flows of a coflow at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FairTo {
    begun: u32,
    unfinished: u32,
}

impl FairTo {
    fn all_of(coflow: &CoflowState) -> FairTo {
        FairTo { begun: coflow.begun(), unfinished: coflow.demand().unfinished() }
    }
}

impl FairLevels {
    /// A decision begins. No level has changed so far.
    pub fn start(&mut self) {
        self.changes.clear();
        self.tells_changes = true;
    }

    /// Levels are withdrawn, or given by a rule that does not say which have changed.
    pub fn forget(&mut self) {
        self.flows = None;
        self.keeps = false;
        self.tells_changes = false;
    }

    /// The levels, if they are kept.
    fn kept(&self) -> Option<&KeptLevels> {
        self.memory.as_deref().filter(|_| self.keeps)
    }

    fn kept_mut(&mut self) -> Option<&mut KeptLevels> {
        self.memory.as_deref_mut().filter(|_| self.keeps)
    }

    /// Another coflow may come to the place of this one.
    pub fn restart(&mut self) {
        self.forget();
        self.filled = 0;
    }

    /// The levels are fair to all active flows of a coflow. All but `filled` flows crossed a full link.
    pub fn remember(&mut self, coflow: &CoflowState, filled: usize) {
        self.flows = Some(FairTo::all_of(coflow));
        self.filled += filled as u64;
    }

    /// Positions of flows that another link limits since the last decision, if [`FairLevels::changes`] are known.
    /// Some occur twice, some may have ended.
    pub fn moved(&self) -> &[u32] {
        self.kept().map_or(&[], KeptLevels::moved)
    }

    /// The links whose level the last decision changed, some of them twice; `None` if it does not say.
    pub fn changes(&self) -> Option<&[u32]> {
        self.tells_changes.then_some(&*self.changes)
    }

    /// What is free has changed at some links, and the levels are to stay.
    pub fn stay(&mut self, links: &MarkedLinks) {
        if let Some(kept) = self.kept_mut() {
            kept.miss(links.iter());
        }
    }

    /// Whether [`FairLevels::limit`] is known.
    pub fn keeps_limits(&self) -> bool {
        self.keeps
    }

    /// The local link that limits the flow at a position, where that is kept: of several with the same level, one of
    /// them for as long as the flow is not [moved](FairLevels::moved).
    pub fn limit(&self, position: usize) -> Option<usize> {
        Some(self.kept()?.limit(position) as usize)
    }

    /// Goes on from `levels`, which are fair, after the flows at some positions have `ended` and what is free
    /// (`before`, by local link) has changed as `changes` says. `capacity` is that of each link of the fabric. Brings
    /// `levels` and `after` up to date, tells `changes` where `after` is another amount, and returns true, if levels
    /// are kept. They begin to be kept once all were filled so often that it pays.
    pub fn follow(
        &mut self,
        (coflow, ended): (&CoflowState, impl Iterator<Item = u32> + Clone),
        (before, capacity): (&[f64], &[f64]),
        (after, levels): (&mut [f64], &mut [f64]),
        changes: &mut Changes,
    ) -> bool {
        let demand = coflow.demand();
        let now = FairTo::all_of(coflow);
        let ended = ended.filter(|_| self.flows != Some(now));
        let then = FairTo { unfinished: now.unfinished + ended.clone().count() as u32, ..now };
        if levels.is_empty() || self.flows != Some(then) {
            return false;
        }
        if let Some(kept) = self.memory.as_deref_mut().filter(|_| self.keeps) {
            kept.follow(ended, before, &changes.dirty);
            self.changes.extend_from_slice(kept.changed());
            kept.write(before, levels, after, &mut changes.dirty_after);
        } else if self.filled > FILLED_PER_FLOW * u64::from(demand.unfinished()) {
            self.filled = 0;
            self.tells_changes = false;
            let capacity = demand.links().iter().map(|link| capacity[link.index()]);
            let kept = self.memory.get_or_insert_default();
            kept.fill(demand, capacity, before);
            kept.write_all(before, levels, after, &mut changes.dirty_after);
            self.keeps = true;
        } else {
            return false;
        }
        self.flows = Some(now);
        true
    }
}
