//! What one entry of a plan gives to a coflow, and how that is decided.

use super::grant::FlowRate;
use super::idle::Idle;
use super::kept::Place;
use super::madd::Madd;
use super::matching::Takers;
use super::proportional::Proportional;
use super::ripple::LevelChange;
use super::rows::Rows;
use super::{PlanError, Work, all_or_none, can_send, equal, flows, max_min};
use crate::demand::Demand;
use crate::differences;
use crate::ids::LinkId;
use crate::plan::{Entry, Group, Rule};
use crate::state::CoflowState;

/// What one entry gives to a coflow.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// What this was decided for, and by which rule; `None` when it has to be decided anew.
    pub decided: Option<(Group, Rule)>,
    /// Free capacity at the coflow's links before and after; empty before the first decision and
    /// while the coflow is idle.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    pub idle: Idle,
    /// Where it stands, in a plan that is kept.
    pub place: Place,
    pub levels: Vec<f64>,
    /// To which flows, if they are the max-min fair ones.
    fair_to: Option<FairTo>,
    /// Links that have another level since the last decision, and whether these are all.
    level_changes: Vec<LevelChange>,
    tells_level_changes: bool,
    pub madd: Madd,
    pub proportional: Proportional,
    pub singles: Vec<FlowRate>,
    /// Under matching, the flows that run.
    pub takers: Takers,
    /// Bytes per second of the whole coflow.
    pub rate: f64,
    /// Walks over the plan in which this was last confirmed, and last decided.
    pub walk: u64,
    pub decided_in: u64,
}

/// All flows of a coflow at some moment.
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

impl Part {
    pub fn is_empty(&self) -> bool {
        self.rate == 0.0
    }

    /// Withdraws what was given.
    pub fn clear(&mut self) {
        self.decided = None;
        self.before.clear();
        self.after.clear();
        self.idle.end();
        self.takers.forget_changes();
        self.withdraw();
    }

    /// The coflow can send nothing, and waits until it can: what it found is not kept.
    pub fn wait(&mut self, demand: &Demand) {
        self.idle.begin(demand, &self.before);
        self.before.clear();
        self.after.clear();
        self.madd.clear();
        self.takers.withdraw();
    }

    /// The coflow can send nothing any more, whatever it had.
    pub fn fall_idle(&mut self) {
        self.takers.forget_changes();
        self.withdraw();
        self.before.clear();
        self.after.clear();
        self.idle.resume();
    }

    fn withdraw(&mut self) {
        self.madd.clear();
        self.takers.withdraw();
        self.give_nothing();
    }

    /// Withdraws what the rules that remember nothing have given.
    fn give_nothing(&mut self) {
        self.give_no_levels();
        self.proportional.clear();
        self.singles.clear();
        self.rate = 0.0;
    }

    fn give_no_levels(&mut self) {
        self.levels.clear();
        self.tells_level_changes = false;
        self.fair_to = None;
    }

    pub fn used(&self, l: usize) -> f64 {
        if self.is_empty() { 0.0 } else { self.before[l] - self.after[l] }
    }

    /// Shares the capacity `before` among the flows of `group`, all of `coflow`, by `rule`.
    /// `work.moved` has the local links at which `before` has changed since the last decision,
    /// `work.found` what it was there, and `work.changed` receives the links at which `after` has
    /// changed; `work.ended` are the flows that have ended since. Returns whether rates may have changed.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        Entry { group, rule, .. }: &Entry,
        work: &mut Work,
        capacity: &[f64],
        rows: &mut Rows,
    ) -> Result<bool, PlanError> {
        let (group, rule) = (*group, *rule);
        let touched = self.decided != Some((group, rule));
        self.takers.forget_changes();
        self.decided = Some((group, rule));
        self.level_changes.clear();
        self.tells_level_changes = true;
        let was_empty = self.is_empty();
        let whole = matches!(group, Group::Coflow(_));
        let matches = matches!(rule, Rule::Matching | Rule::MatchingByLoad);
        if !matches || !whole {
            self.takers.withdraw();
        }
        if !is_madd(rule) {
            self.madd.clear();
        }
        if rule != Rule::Proportional {
            self.proportional.clear();
        }
        match rule {
            Rule::Matching | Rule::MatchingByLoad if whole => {
                let by_another_rule = !was_empty && self.takers.is_empty();
                self.give_no_levels();
                self.singles.clear();
                self.takers.by_load = rule == Rule::MatchingByLoad;
                self.takers.decide(coflow, &self.before, &mut self.after, touched, capacity, work);
                let changes = by_another_rule || !self.takers.changes().is_empty();
                if changes {
                    self.sum_up(coflow.demand());
                }
                return Ok(changes);
            }
            Rule::Madd | Rule::MaddWithin(_) if whole => {
                self.give_no_levels();
                self.singles.clear();
                let progress = coflow.progress();
                let limit = match rule {
                    Rule::MaddWithin(seconds) => progress.scale / seconds,
                    _ => f64::INFINITY,
                };
                self.decide_madd(&progress.link_left, limit, touched, work);
                self.sum_up(coflow.demand());
            }
            Rule::Madd | Rule::MaddWithin(_) => return Err(PlanError::BytesLeftOfAPart),
            Rule::Proportional if !whole => return Err(PlanError::BytesLeftOfAPart),
            _ if !touched && self.stays(coflow.demand(), rule, work) => return Ok(false),
            _ => {
                if work.follows {
                    work.was.clone_from(&self.after);
                }
                let fair = whole && rule == Rule::MaxMin;
                if rule == Rule::Proportional {
                    self.decide_proportional(coflow, work);
                } else if !(fair && self.ripples(coflow, group, work)) {
                    self.decide_afresh(coflow.demand(), group, rule, work, capacity, rows)?;
                    self.fair_to = (fair && !self.is_empty()).then(|| FairTo::all_of(coflow));
                }
                if work.follows {
                    work.changed.clear();
                    differences(&self.after, &work.was, &mut work.changed);
                }
            }
        }
        Ok(!(was_empty && self.is_empty()))
    }

    /// What is used, by local link.
    pub fn uses(&self) -> impl Iterator<Item = f64> + '_ {
        let none = self.is_empty();
        let both = self.before.iter().zip(&self.after);
        both.map(move |(before, after)| if none { 0.0 } else { before - after })
    }

    /// What is left, by local link.
    pub fn rest(&self) -> impl Iterator<Item = f64> + '_ {
        if self.is_empty() { self.before.iter() } else { self.after.iter() }.copied()
    }

    /// How much may be left at a link for rates to stay, while no less than nothing is left anywhere.
    ///
    /// Max-min fair rates are unique, and they stay the fair ones as long as they fit and the links
    /// that limit flows have not moved. Nothing is told of other rates. Less than `negligible` does not
    /// open a link.
    pub fn slack(&self) -> impl Fn(usize, f64) -> f64 {
        let fair = matches!(self.decided, Some((_, Rule::MaxMin))) && !self.levels.is_empty();
        let (is_empty, levels, before) = (self.is_empty(), &*self.levels, &*self.before);
        move |l, negligible| {
            if is_empty {
                negligible
            } else if !fair {
                f64::NEG_INFINITY
            } else if levels[l] == max_min::UNLIMITED {
                f64::INFINITY
            } else if before[l] > 0.0 {
                0.0
            } else {
                negligible
            }
        }
    }

    /// What [`CoflowAllocation`](super::CoflowAllocation) tells of its last decision.
    pub fn level_changes(&self) -> Option<&[LevelChange]> {
        self.tells_level_changes.then_some(&*self.level_changes)
    }

    fn decide_madd(&mut self, left: &[f64], limit: f64, touched: bool, work: &mut Work) {
        let Work { moved, changed, was, .. } = work;
        changed.clear();
        if self.madd.decide(&self.before, left, limit, touched, moved) {
            was.clone_from(&self.after);
            self.after.clear();
            let both = self.before.iter().zip(left);
            self.after.extend(both.map(|(before, left)| self.madd.rest(*before, *left)));
            differences(&self.after, was, changed);
            return;
        }
        for &l in &*moved {
            let k = l as usize;
            let rest = self.madd.rest(self.before[k], left[k]);
            if self.after[k] != rest {
                self.after[k] = rest;
                changed.push(l);
            }
        }
    }

    fn decide_proportional(&mut self, coflow: &CoflowState, work: &mut Work) {
        let demand = coflow.demand();
        self.give_no_levels();
        self.singles.clear();
        if can_send(demand, &self.before) {
            let left = &coflow.progress().left;
            let (before, after) = (&self.before, &mut self.after);
            self.proportional.fill(demand, left, before, after, &mut work.proportional);
        } else {
            self.after.clone_from(&self.before);
        }
        self.sum_up(demand);
        if self.is_empty() {
            self.give_nothing();
        }
    }

    /// Whether the rates stay though other amounts are free at `work.moved`; then `after` follows.
    ///
    /// Who gets nothing stays so while it cannot send. Max-min fair rates are unique, and they stay
    /// the fair ones as long as they fit and the links that limit flows have not moved.
    fn stays(&mut self, demand: &Demand, rule: Rule, work: &mut Work) -> bool {
        let Work { moved, found, changed, .. } = work;
        let mut both = moved.iter().map(|&l| l as usize).zip(&*found);
        let stays = if self.is_empty() {
            !matches!(rule, Rule::Rate(_)) && !can_send(demand, &self.before)
        } else {
            rule == Rule::MaxMin
                && !self.levels.is_empty()
                && both.all(|(l, found)| {
                    let limits = self.levels[l] < max_min::UNLIMITED;
                    !limits && self.before[l] >= found - self.after[l]
                })
        };
        if stays {
            for (l, found) in moved.iter().map(|&l| l as usize).zip(&*found) {
                self.after[l] = self.before[l] - (found - self.after[l]);
            }
            changed.clone_from(moved);
        }
        stays
    }

    /// Goes on from the max-min fair levels of a group, all of `coflow`, after flows have ended and other
    /// amounts are free at `work.moved`. Returns whether that was possible.
    fn ripples(&mut self, coflow: &CoflowState, group: Group, work: &mut Work) -> bool {
        let demand = coflow.demand();
        let Work { moved, found, ended, ripple, .. } = work;
        let now = FairTo::all_of(coflow);
        let stay = self.fair_to == Some(now);
        let ended = ended.iter().filter(|(id, _)| !stay && group == Group::Coflow(*id));
        let before = FairTo { unfinished: now.unfinished + ended.clone().count() as u32, ..now };
        if self.levels.is_empty() || self.fair_to != Some(before) || !demand.is_shuffle() {
            return false;
        }
        for (l, found) in moved.iter().map(|&l| l as usize).zip(&*found) {
            self.after[l] += self.before[l] - found;
        }
        ripple.start(self.before.iter().zip(&self.after).map(|(before, after)| before - after));
        for &(_, position) in ended {
            let (s, r) = demand.ends(position as usize);
            let rate = self.levels[s].min(self.levels[r]);
            ripple.used[s] -= rate;
            ripple.used[r] -= rate;
        }
        ripple.find_disturbed(&self.before, &self.levels);
        if !ripple.run_out(demand, &self.before, &mut self.levels) {
            return false;
        }
        ripple.rest(&self.before, &mut self.after);
        self.level_changes.clone_from(&ripple.changed);
        self.fair_to = Some(now);
        self.sum_up(demand);
        if self.is_empty() {
            self.give_nothing();
        }
        true
    }

    /// The rules that remember nothing.
    fn decide_afresh(
        &mut self,
        demand: &Demand,
        group: Group,
        rule: Rule,
        work: &mut Work,
        capacity: &[f64],
        rows: &mut Rows,
    ) -> Result<(), PlanError> {
        self.after.clone_from(&self.before);
        if !matches!(rule, Rule::Rate(_)) && !can_send(demand, &self.before) {
            self.give_nothing();
            return Ok(());
        }
        self.give_no_levels();
        if !matches!(rule, Rule::Matching | Rule::MatchingByLoad) {
            self.singles.clear();
        }
        let (after, singles) = (&mut self.after, &mut self.singles);
        let by_link = matches!(group, Group::Coflow(_)) && demand.is_bipartite();
        match rule {
            Rule::MaxMin if by_link => {
                if rows.is_empty() {
                    rows.tell_apart(demand);
                }
                let flows = max_min::Shuffle { demand, rows };
                max_min::fill(&flows, &self.before, &mut work.filling);
                self.levels.extend_from_slice(&work.filling.level);
                for (after, free) in after.iter_mut().zip(&work.filling.free) {
                    *after = free.max(0.0);
                }
            }
            Rule::Equal if by_link => {
                equal::levels(demand, after, &mut self.levels, &mut work.counts);
            }
            Rule::AllOrNone if by_link => {
                let rate = all_or_none::rate(demand.count(), after);
                self.levels.resize(after.len(), rate);
            }
            Rule::Hold | Rule::Madd | Rule::MaddWithin(_) | Rule::Proportional => {}
            Rule::BySize => return Err(PlanError::BySizeOfAPart),
            Rule::OldestFirst | Rule::ShortestFirst => return Err(PlanError::LineOfAPart),
            Rule::MaxMin
            | Rule::Equal
            | Rule::AllOrNone
            | Rule::Matching
            | Rule::MatchingByLoad
            | Rule::Rate(_) => {
                work.select(demand, group);
                let flows = &work.subset;
                match rule {
                    Rule::MaxMin => flows::max_min(demand, flows, after, singles, &mut work.flows),
                    Rule::Equal => flows::equal(demand, flows, after, singles, &mut work.flows),
                    Rule::AllOrNone => {
                        flows::all_or_none(demand, flows, after, singles, &mut work.flows);
                    }
                    Rule::Rate(rate) => {
                        let capacity = |link: LinkId| capacity[link.index()];
                        flows::fixed(demand, flows, rate, after, capacity, singles)?;
                    }
                    _ => flows::matching(demand, flows, after, singles),
                }
            }
        }
        self.sum_up(demand);
        if self.rate == 0.0 {
            self.give_nothing();
        }
        Ok(())
    }

    fn sum_up(&mut self, demand: &Demand) {
        let senders = demand.senders();
        self.rate = sum_of_differences(&self.before[..senders], &self.after[..senders]);
    }

    pub fn singles(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.singles.iter().copied().chain(self.takers.singles())
    }
}

impl Work {
    /// Leaves in `subset` the positions of the active flows of a group, ascending.
    fn select(&mut self, demand: &Demand, group: Group) {
        self.subset.clear();
        match group {
            Group::AllFlows | Group::Coflow(_) => {
                self.subset.extend(demand.active().map(|p| p as u32));
            }
            Group::CoflowAt(_, link) => {
                if let Some(l) = demand.links().iter().position(|&k| k == link) {
                    let here = demand.active().filter(|&p| demand.path(p).any(|k| k == l));
                    self.subset.extend(here.map(|p| p as u32));
                }
            }
            Group::Flow(flow) => {
                let position = demand.position(flow.index);
                self.subset.extend(demand.is_active(position).then_some(position as u32));
            }
        }
    }
}

/// Whether rates go by what is left.
pub(super) fn is_madd(rule: Rule) -> bool {
    matches!(rule, Rule::Madd | Rule::MaddWithin(_))
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
