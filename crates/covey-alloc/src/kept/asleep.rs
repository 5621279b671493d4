//! Idle coflows of plans that are rewritten in each round, each in little memory.
//!
//! A pass goes through the whole of such a plan, and most coflows that it serves are
//! [idle](super::idle) and stay idle. For such a coflow the pass asks only whether anything is left
//! at a link at which nothing was. The data for this question are kept apart from the rest of what
//! is known of the coflow: with tens of thousands of coflows, the memory that is read is what
//! costs.

use super::allocations::Allocations;
use super::idle::Idle;
use super::target::AllocationPart;
use crate::error::PlanError;
use crate::free_capacity::FreeCapacity;
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::state::State;
use covey_core::{Entry, Group, Rule};

/// A coflow with links in more words than this does not sleep: there are few such coflows.
const MAX_WORDS: usize = 5;

/// Which coflows sleep.
#[derive(Debug, Default)]
pub struct Sleepers {
    by_coflow: Vec<Asleep>,
}

/// Whether a coflow sleeps, and what is known of it.
#[derive(Debug, Default, Clone, Copy)]
struct Asleep {
    /// The rule under which it sleeps; `None` if it is awake.
    rule: Option<Rule>,
    /// The pass that last saw it asleep.
    pass: u64,
    /// The number of words that its links are in.
    count: u8,
    words: [SleeperLinks; MAX_WORDS],
}

/// Some links of a coflow: those in one word of the set of all links.
#[derive(Debug, Default, Clone, Copy)]
struct SleeperLinks {
    /// Number of the word.
    at: u16,
    /// The coflow's links in it.
    bits: u64,
    /// The ones of these links at which anything was left.
    open: u64,
}

impl Sleepers {
    /// Whether the coflow of an entry sleeps on and gets nothing. Otherwise it is awake afterwards.
    ///
    /// # Errors
    /// When this pass has served it already.
    pub fn sleeps_on(
        &mut self,
        coflows: &mut Allocations,
        free: &FreeCapacity,
        id: CoflowId,
        entry: &Entry,
    ) -> Result<bool, PlanError> {
        let Some(asleep) =
            self.by_coflow.get_mut(id.index()).filter(|asleep| asleep.rule.is_some())
        else {
            return Ok(false);
        };
        if asleep.pass == coflows.pass {
            return Err(PlanError::Twice(id));
        }
        let is_same = asleep.rule == Some(entry.rule) && !coflows.is_provisional;
        if is_same && asleep.sleeps_on(free.dirty.words(), &free.open) {
            asleep.pass = coflows.pass;
            return Ok(true);
        }
        self.wake(coflows, id);
        Ok(false)
    }

    /// An idle coflow falls asleep, if it has nothing from entries for some of its flows, and its
    /// own entry is for all of them.
    pub fn fall_asleep(
        &mut self,
        coflows: &Allocations,
        state: &State,
        id: CoflowId,
        which: AllocationPart,
        entry: &Entry,
    ) {
        let is_whole = which == AllocationPart::Main && matches!(entry.group, Group::Coflow(_));
        if !is_whole || coflows[id].has_other_entries() {
            return;
        }
        if self.by_coflow.len() <= id.index() {
            self.by_coflow.resize(state.slots(), Asleep::default());
        }
        let idle = &coflows[id].main.idle;
        let asleep = &mut self.by_coflow[id.index()];
        if asleep.lie_down(state.coflow(id).demand(), idle) {
            asleep.rule = Some(entry.rule);
            asleep.pass = coflows.pass;
        }
    }

    /// Wakes a coflow: what was seen while it slept is written into its allocation.
    pub fn wake(&mut self, coflows: &mut Allocations, id: CoflowId) {
        let Some(asleep) = self.by_coflow.get_mut(id.index()) else { return };
        if asleep.rule.take().is_some() {
            let main = &mut coflows[id].main;
            let words = &asleep.words[..asleep.count as usize];
            main.idle.resume_with(words.iter().map(|links| links.open));
            main.confirmed_in = asleep.pass;
        }
    }

    /// Wakes all coflows.
    pub fn wake_all(&mut self, coflows: &mut Allocations) {
        for id in 0..self.by_coflow.len() as u32 {
            self.wake(coflows, CoflowId(id));
        }
    }

    /// Whether a coflow was seen asleep by a pass.
    pub fn was_seen(&self, id: CoflowId, pass: u64) -> bool {
        let asleep = self.by_coflow.get(id.index());
        asleep.is_some_and(|asleep| asleep.rule.is_some() && asleep.pass == pass)
    }
}

impl Asleep {
    /// Returns whether none of the coflow's `dirty` links is `open` that was closed before: the
    /// coflow sleeps on. Then writes down which of them are open.
    fn sleeps_on(&mut self, dirty: &[u64], open: &[u64]) -> bool {
        let mut now = self.words;
        let mut has_opened = false;
        for links in &mut now[..self.count as usize] {
            let here = links.bits & dirty[links.at as usize];
            let is_open = here & open[links.at as usize];
            has_opened |= is_open & !links.open != 0;
            links.open = links.open & !here | is_open;
        }
        if !has_opened {
            self.words = now;
        }
        !has_opened
    }

    /// Writes down the links of an idle coflow. Returns whether they are few enough.
    fn lie_down(&mut self, demand: &Demand, idle: &Idle) -> bool {
        let words = demand.set().words();
        if words.len() > MAX_WORDS || words.iter().any(|word| word.at > u32::from(u16::MAX)) {
            return false;
        }
        self.count = words.len() as u8;
        for ((links, word), open) in self.words.iter_mut().zip(words).zip(idle.open()) {
            *links = SleeperLinks { at: word.at as u16, bits: word.bits, open: *open };
        }
        true
    }
}
