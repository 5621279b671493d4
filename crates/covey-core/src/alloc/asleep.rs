//! Idle coflows of plans that are written anew, each in little memory.
//!
//! Such a plan is walked whole, and most of those that it serves are [idle](super::idle) and stay so. All that
//! a walk asks of such a coflow is whether there is anything at a link of it where there was nothing. What
//! that takes is kept apart from the rest of what is known of it: with tens of thousands of coflows it is the
//! memory that is read which costs.

use super::grant::Which;
use super::idle::Idle;
use super::{Allocator, PlanError};
use crate::demand::Demand;
use crate::ids::CoflowId;
use crate::plan::{Entry, Group, Rule};
use crate::state::State;

/// A coflow with links in more words than this does not sleep: it is one of few.
const WORDS: usize = 5;

/// What is known of a coflow, and whether it sleeps.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Asleep {
    /// The rule under which it does; `None` if it does not.
    rule: Option<Rule>,
    /// The walk on which it was last seen asleep.
    walk: u64,
    /// How many words its links are in, and these.
    count: u8,
    words: [Links; WORDS],
}

/// Some links of a coflow: a word of the set of all links, and at which of them there was anything.
#[derive(Debug, Default, Clone, Copy)]
struct Links {
    at: u16,
    bits: u64,
    open: u64,
}

impl Asleep {
    /// Takes down where there is anything (`open`), at those of the coflow's links that have `moved`, unless
    /// that is new anywhere. Returns whether it is not, so that the coflow sleeps on.
    fn sleeps_on(&mut self, moved: &[u64], open: &[u64]) -> bool {
        let mut now = self.words;
        let mut has_opened = false;
        for links in &mut now[..self.count as usize] {
            let here = links.bits & moved[links.at as usize];
            let is_open = here & open[links.at as usize];
            has_opened |= is_open & !links.open != 0;
            links.open = links.open & !here | is_open;
        }
        if !has_opened {
            self.words = now;
        }
        !has_opened
    }

    /// Whether it was seen asleep on a walk.
    pub fn is_seen(&self, walk: u64) -> bool {
        self.rule.is_some() && self.walk == walk
    }
}

impl Allocator {
    /// Whether the coflow of an entry sleeps on, and so gets nothing. One that does not is awake afterwards.
    ///
    /// # Errors
    /// When it is served twice.
    pub(super) fn sleeps_on(&mut self, id: CoflowId, entry: &Entry) -> Result<bool, PlanError> {
        let Some(asleep) = self.asleep.get_mut(id.index()).filter(|asleep| asleep.rule.is_some())
        else {
            return Ok(false);
        };
        if asleep.walk == self.walk {
            return Err(PlanError::Twice(id));
        }
        let is_same = asleep.rule == Some(entry.rule) && !self.shares_spare;
        if is_same && asleep.sleeps_on(&self.moved, &self.open) {
            asleep.walk = self.walk;
            return Ok(true);
        }
        self.wake(id);
        Ok(false)
    }

    /// A coflow that is idle sleeps from now on, if it has nothing by entries of other kinds, and is offered no
    /// more than by its own.
    pub(super) fn fall_asleep(&mut self, state: &State, id: CoflowId, which: Which, entry: &Entry) {
        let grant = &self.grants[id.index()];
        let has_others = !grant.pieces.is_empty() || !grant.provisional.is_empty();
        let is_whole = which == Which::Main && matches!(entry.group, Group::Coflow(_));
        if self.kept.is_on || self.shares_spare || !is_whole || has_others {
            return;
        }
        if self.asleep.len() <= id.index() {
            self.asleep.resize(state.slots(), Asleep::default());
        }
        let idle = &self.grants[id.index()].main.idle;
        let asleep = &mut self.asleep[id.index()];
        if asleep.lie_down(state.coflow(id).demand(), idle) {
            asleep.rule = Some(entry.rule);
            asleep.walk = self.walk;
        }
    }

    /// A coflow sleeps no more: what it has seen asleep is known to its part.
    pub(super) fn wake(&mut self, id: CoflowId) {
        let Some(asleep) = self.asleep.get_mut(id.index()) else { return };
        if asleep.rule.take().is_some() {
            let part = &mut self.grants[id.index()].main;
            let words = &asleep.words[..asleep.count as usize];
            part.idle.resume_with(words.iter().map(|links| links.open));
            part.walk = asleep.walk;
        }
    }

    /// Nobody sleeps any more.
    pub(super) fn wake_all(&mut self) {
        for id in 0..self.asleep.len() as u32 {
            self.wake(CoflowId(id));
        }
    }
}

impl Asleep {
    /// Takes down the links of a coflow that is idle. Returns whether they are few enough.
    fn lie_down(&mut self, demand: &Demand, idle: &Idle) -> bool {
        let words = demand.set().words();
        if words.len() > WORDS || words.iter().any(|word| word.at > u32::from(u16::MAX)) {
            return false;
        }
        self.count = words.len() as u8;
        for ((links, word), open) in self.words.iter_mut().zip(words).zip(idle.open()) {
            *links = Links { at: word.at as u16, bits: word.bits, open: *open };
        }
        true
    }
}
