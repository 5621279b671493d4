//! What one entry of a plan gives to a coflow, and how that is decided.

use super::changes::Changes;
use super::idle::Idle;
use super::incremental_matching::{IncrementalMatching, MatchingScratch};
use super::kept_levels::{KeptLevels, Members};
use super::plan_place::PlanPlace;
use crate::error::PlanError;
use crate::flow_rate::{ByLeft, FlowRate};
use crate::free_capacity::usable;
use crate::rules::list;
use crate::rules::madd::{Madd, is_madd};
use crate::rules::sharing::{EntryFlows, Rates, RuleScratch, SharingRule, UNLIMITED, can_send};
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::sets::simd::differences;
use covey_core::state::CoflowState;
use covey_core::{Entry, Group, Rule};

/// Levels that differ by less than this, relatively, are the same.
const SAME_LEVEL: f64 = 1.0 + 1e-12;

/// What one entry gives to a coflow.
#[derive(Debug, Default)]
pub struct EntryAllocation {
    /// The group and the rule of the last decision; `None` when the entry has to be decided again.
    pub decided: Option<(Group, Rule)>,
    /// Bytes per second free at the coflow's links before the entry, without negligible residues;
    /// empty before the first decision and while the coflow is idle.
    pub before: Vec<f64>,
    /// The same after the entry.
    pub after: Vec<f64>,
    pub idle: Idle,
    /// Where the entry stands, in a plan that is kept.
    pub place: PlanPlace,
    pub rates: Rates,
    /// Bytes per second of all flows together.
    pub total: f64,
    levels: KeptLevels,
    /// Under matching of a whole coflow, the flows that run.
    pub matched: IncrementalMatching,
    /// The allocation pass that last confirmed this.
    pub confirmed_in: u64,
    /// The allocation pass that last decided this.
    pub decided_in: u64,
}

/// Working memory of one entry.
#[derive(Debug, Default)]
pub struct Scratch {
    pub changes: Changes,
    /// What the entry left at its links before.
    previous_after: Vec<f64>,
    rules: RuleScratch,
    matching: MatchingScratch,
}

impl EntryAllocation {
    pub fn is_empty(&self) -> bool {
        self.total == 0.0
    }

    /// Withdraws what was given.
    pub fn clear(&mut self) {
        self.decided = None;
        self.before.clear();
        self.after.clear();
        self.idle.end();
        self.matched.forget_changes();
        self.withdraw();
    }

    /// Withdraws what was given, and remembers nothing of the coflow.
    pub fn restart(&mut self) {
        self.clear();
        self.place.forget();
    }

    /// The coflow can send nothing, and is idle until it can. The capacity that it found is not
    /// kept.
    pub fn begin_idle(&mut self, demand: &Demand) {
        self.idle.begin(demand, &self.before);
        self.before.clear();
        self.after.clear();
        self.rates.madd_ratio = 0.0;
        self.matched.withdraw();
    }

    /// The coflow can send nothing any more, whatever it had. At which links anything is left is
    /// known.
    pub fn fall_idle(&mut self) {
        self.matched.forget_changes();
        self.withdraw();
        self.before.clear();
        self.after.clear();
        self.idle.resume();
    }

    fn withdraw(&mut self) {
        self.matched.withdraw();
        self.give_nothing();
    }

    /// Withdraws what the other rules have given.
    fn give_nothing(&mut self) {
        self.levels.forget();
        self.rates.clear();
        self.total = 0.0;
    }

    /// Bytes per second that the coflow uses at local link `l`.
    pub fn used(&self, l: usize) -> f64 {
        if self.is_empty() { 0.0 } else { self.before[l] - self.after[l] }
    }

    /// Bytes per second that the coflow uses, by local link.
    pub fn uses(&self) -> impl Iterator<Item = f64> + '_ {
        let none = self.is_empty();
        let both = self.before.iter().zip(&self.after);
        both.map(move |(before, after)| if none { 0.0 } else { before - after })
    }

    /// Bytes per second that are left, by local link.
    pub fn all_left(&self) -> &[f64] {
        if self.is_empty() { &self.before } else { &self.after }
    }

    /// Rates of single flows.
    pub fn single_rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.rates.single.iter().copied().chain(self.matched.flow_rates())
    }

    /// The links whose level the last decision changed; `None` if it does not say.
    pub fn level_changes(&self) -> Option<&[u32]> {
        self.levels.changed()
    }

    /// See [`KeptLevels::moved`].
    pub fn moved_flows(&self) -> &[u32] {
        self.levels.moved()
    }

    /// Whether [`EntryAllocation::limit`] is known.
    pub fn keeps_limits(&self) -> bool {
        self.levels.keeps_limits()
    }

    /// The local link that limits the flow at a position, where that is known.
    pub fn limit(&self, position: usize) -> Option<usize> {
        self.keeps_limits()
            .then(|| self.levels.limits()[position].get())
            .flatten()
            .map(|l| l as usize)
    }

    /// Rates in proportion to what is left of each flow.
    pub fn by_left(&self) -> ByLeft<'_> {
        let Rates { levels, lowest, highest, .. } = &self.rates;
        if *highest <= lowest * SAME_LEVEL {
            return ByLeft { lowest: *lowest, highest: *lowest, levels: &[], limits: &[] };
        }
        ByLeft { lowest: *lowest, highest: *highest, levels, limits: self.levels.limits() }
    }

    /// The coflow has been sent by bytes left for so many `seconds` over the scale.
    pub fn elapse(&mut self, seconds: f64) {
        let Rates { levels, lowest, highest, .. } = &mut self.rates;
        self.levels.elapse(*lowest, seconds);
        let raise = |level: f64| ByLeft::raise(*lowest, level, seconds).min(UNLIMITED);
        levels.iter_mut().for_each(|level| *level = raise(*level));
        *highest = raise(*highest);
    }

    /// Brings `before` up to date at the dirty links (`None`: all links) of the fabric. Leaves in
    /// `changes` the local links at which it is another amount.
    pub fn find(
        &mut self,
        demand: &Demand,
        dirty: Option<&[u64]>,
        free: &[f64],
        capacity: &[f64],
        changes: &mut Changes,
    ) {
        let usable = |link: usize| usable(free, capacity, link);
        changes.start(demand.links().len());
        if self.before.is_empty() {
            self.before.extend(demand.links().iter().map(|link| usable(link.index())));
            return;
        }
        let before = &mut self.before[..];
        let Some(dirty) = dirty else {
            for (l, link) in demand.links().iter().enumerate() {
                changes.find(l, &mut before[l], usable(link.index()));
            }
            return;
        };
        for (link, l) in demand.set().common(dirty) {
            changes.find(l, &mut before[l], usable(link));
        }
    }

    /// Shares the capacity `before` among the flows of an entry, all of `coflow`. `scratch.changes`
    /// says how `before` differs from the previous decision, and receives the links at which
    /// `after` does. Returns whether rates may
    /// have changed.
    ///
    /// # Errors
    /// When the plan asks for what the rule cannot give.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        &Entry { group, rule, .. }: &Entry,
        scratch: &mut Scratch,
        capacity: &[f64],
    ) -> Result<bool, PlanError> {
        let touched = self.decided != Some((group, rule));
        scratch.changes.touched = touched;
        self.matched.forget_changes();
        self.decided = Some((group, rule));
        self.levels.start();
        let was_empty = self.is_empty();
        let mut flows = EntryFlows { coflow, group, capacity };
        let whole = flows.is_whole();
        let matches = matches!(rule, Rule::Matching | Rule::MatchingByLoad);
        if !matches || !whole {
            self.matched.withdraw();
        }
        if !is_madd(rule) {
            self.rates.madd_ratio = 0.0;
        }
        match rule {
            Rule::Matching | Rule::MatchingByLoad if whole => {
                let by_another_rule = !was_empty && self.matched.is_empty();
                self.levels.forget();
                self.rates.clear();
                self.matched.most_loaded_first = rule == Rule::MatchingByLoad;
                let Scratch { changes, matching, .. } = scratch;
                let (before, after) = (&self.before, &mut self.after);
                self.matched.decide(coflow, before, after, capacity, changes, matching);
                let changes = by_another_rule || self.matched.any_changed();
                if changes {
                    self.sum_up(coflow.demand());
                }
                return Ok(changes);
            }
            Rule::Madd if whole => {
                self.decide_madd(&Madd { within_s: None }, &mut flows, scratch)?;
            }
            Rule::MaddWithin(seconds) if whole => {
                let madd = Madd { within_s: Some(seconds) };
                self.decide_madd(&madd, &mut flows, scratch)?;
            }
            _ if !whole && list::with(rule, |rule| rule.needs_whole_coflow()) => {
                return Err(PlanError::BytesLeftOfAPart);
            }
            _ if !touched && self.stays(coflow.demand(), rule, &mut scratch.changes) => {
                return Ok(false);
            }
            Rule::MaxMin | Rule::Proportional if whole => {
                self.decide_levels(rule, coflow, capacity, &mut scratch.changes);
            }
            _ => {
                scratch.previous_after.clone_from(&self.after);
                self.decide_from_nothing(rule, &mut flows, &mut scratch.rules)?;
                let Scratch { changes, previous_after, .. } = scratch;
                changes.dirty_after.clear();
                differences(&self.after, previous_after, &mut changes.dirty_after);
            }
        }
        Ok(!(was_empty && self.is_empty()))
    }

    /// Decides by levels of links. They go on from those before.
    fn decide_levels(
        &mut self,
        rule: Rule,
        coflow: &CoflowState,
        capacity: &[f64],
        changes: &mut Changes,
    ) {
        let demand = coflow.demand();
        let by_left = rule == Rule::Proportional;
        changes.dirty_after.clear();
        if !can_send(demand, &self.before) {
            differences(&self.after, &self.before, &mut changes.dirty_after);
            self.after.clone_from(&self.before);
            self.total = 0.0;
            return self.give_nothing();
        }
        self.rates.single.clear();
        let members = if by_left { Members::ByLeft(&coflow.progress().left) } else { Members::All };
        let capacity = demand.links().iter().map(|link| capacity[link.index()]);
        let goes_on = self.levels.share(demand, members, capacity, &self.before, &changes.dirty);
        self.after.resize(self.before.len(), 0.0);
        let (levels, after) = (&mut self.rates.levels, &mut self.after);
        self.levels.write(!goes_on, &self.before, levels, after, &mut changes.dirty_after);
        if by_left {
            self.rates.find_range();
        }
        self.sum_up(demand);
        if self.is_empty() {
            self.give_nothing();
        }
    }

    /// Decides by a rule, whatever was decided before.
    fn decide_from_nothing(
        &mut self,
        rule: Rule,
        flows: &mut EntryFlows<'_>,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let demand = flows.demand();
        self.after.clone_from(&self.before);
        list::with(rule, |rule| {
            if rule.is_exact() || can_send(demand, &self.before) {
                self.levels.forget();
                self.rates.clear_shared();
                if !rule.continues_flows() {
                    self.rates.single.clear();
                }
                rule.share(flows, &mut self.after, &mut self.rates, scratch)?;
                self.sum_up(demand);
            } else {
                self.total = 0.0;
            }
            Ok(())
        })?;
        if self.is_empty() {
            self.give_nothing();
        }
        Ok(())
    }

    fn decide_madd(
        &mut self,
        madd: &Madd,
        flows: &mut EntryFlows<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), PlanError> {
        self.levels.forget();
        let Scratch { changes, previous_after, rules, .. } = scratch;
        previous_after.clone_from(&self.after);
        self.after.clone_from(&self.before);
        self.rates.clear();
        madd.share(flows, &mut self.after, &mut self.rates, rules)?;
        changes.dirty_after.clear();
        differences(&self.after, previous_after, &mut changes.dirty_after);
        self.sum_up(flows.demand());
        Ok(())
    }

    /// Returns whether the rates stay although other amounts are free at some links. If they stay,
    /// `after` follows these amounts.
    ///
    /// An entry that gets nothing stays so while it cannot send. Max-min fair rates are unique, and
    /// they stay the fair ones as long as they fit and the links that limit flows have not changed.
    fn stays(&mut self, demand: &Demand, rule: Rule, changes: &mut Changes) -> bool {
        let levels = &self.rates.levels;
        let stays = if self.is_empty() {
            !matches!(rule, Rule::Rate(_)) && !can_send(demand, &self.before)
        } else {
            rule == Rule::MaxMin
                && !levels.is_empty()
                && changes.previous().all(|(l, previous_free)| {
                    let limits = levels[l] < UNLIMITED;
                    !limits && self.before[l] >= previous_free - self.after[l]
                })
        };
        if stays {
            for (l, previous_free) in changes.previous() {
                self.after[l] = self.before[l] - (previous_free - self.after[l]);
            }
            let Changes { dirty, dirty_after, .. } = changes;
            dirty_after.copy(dirty);
            self.levels.miss(dirty.iter());
        }
        stays
    }

    /// Takes over the rates of flows of a coflow, which others have decided. Returns whether they
    /// are new.
    pub fn take_over(&mut self, id: CoflowId, demand: &Demand, rates: &[FlowRate]) -> bool {
        if self.rates.single == rates {
            return false;
        }
        self.clear();
        self.decided = Some((Group::Coflow(id), Rule::Hold));
        for ends in [&mut self.before, &mut self.after] {
            ends.resize(demand.links().len(), 0.0);
        }
        for flow in rates {
            self.total += flow.rate;
            demand.path(flow.position as usize).for_each(|l| self.before[l] += flow.rate);
        }
        self.rates.single.extend_from_slice(rates);
        true
    }

    fn sum_up(&mut self, demand: &Demand) {
        let senders = demand.senders();
        self.total = sum_of_differences(&self.before[..senders], &self.after[..senders]);
    }
}

/// Sum of `a[k] - b[k]`, in a form that compiles to vector instructions.
fn sum_of_differences(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (k, (a, b)) in a_chunks.remainder().iter().zip(b_chunks.remainder()).enumerate() {
        sums[k] = a - b;
    }
    for (a, b) in a_chunks.zip(b_chunks) {
        for k in 0..LANES {
            sums[k] += a[k] - b[k];
        }
    }
    sums.iter().sum()
}
