//! What a coflow gets, and how one entry of a plan decides it.

use super::backfill::Fill;
use super::{PlanError, Work, equal, flows, madd, matching, max_min};
use crate::demand::Demand;
use crate::ids::LinkId;
use crate::plan::{Group, Rule};
use crate::state::CoflowState;

/// A rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Single {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// What one entry, or backfill, gives to a coflow.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// What this was decided for, and by which rule; `None` when it has to be decided anew.
    pub decided: Option<(Group, Rule)>,
    /// Free capacity at the coflow's links before and after; empty before the first decision.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    levels: Vec<f64>,
    madd: f64,
    singles: Vec<Single>,
    /// Bytes per second of the whole coflow.
    rate: f64,
    /// Walk over the plan in which this was last confirmed.
    pub walk: u64,
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
        self.withdraw();
    }

    fn withdraw(&mut self) {
        self.levels.clear();
        self.madd = 0.0;
        self.singles.clear();
        self.rate = 0.0;
    }

    pub fn used(&self, l: usize) -> f64 {
        if self.is_empty() { 0.0 } else { self.before[l] - self.after[l] }
    }

    /// Shares the capacity `before` among the flows of `group`, all of `coflow`, by `rule`.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        group: Group,
        rule: Rule,
        work: &mut Work,
        capacity: &[f64],
    ) -> Result<(), PlanError> {
        self.decided = Some((group, rule));
        self.after.clone_from(&self.before);
        let demand = coflow.demand();
        if !matches!(rule, Rule::Rate(_)) && !can_send(demand, &self.before) {
            self.withdraw();
            return Ok(());
        }
        self.levels.clear();
        self.madd = 0.0;
        if rule != Rule::Matching {
            self.singles.clear();
        }
        let (after, singles) = (&mut self.after, &mut self.singles);
        let by_link = matches!(group, Group::Coflow(_)) && demand.is_bipartite();
        match rule {
            Rule::MaxMin if by_link => {
                max_min::fill(demand, &self.before, &mut work.filling);
                self.levels.extend_from_slice(&work.filling.level);
                for (after, free) in after.iter_mut().zip(&work.filling.free) {
                    *after = free.max(0.0);
                }
            }
            Rule::Equal if by_link => {
                equal::levels(demand, after, &mut self.levels, &mut work.counts);
            }
            Rule::Matching if by_link => {
                matching::grant(demand, after, singles, &mut work.matching);
            }
            Rule::Madd if matches!(group, Group::Coflow(_)) => {
                let left = &coflow.progress().link_left;
                self.madd = madd::least_ratio(after, left);
                for (after, left) in after.iter_mut().zip(left) {
                    *after = (*after - left * self.madd).max(0.0);
                }
            }
            Rule::Madd => return Err(PlanError::MaddOfAPart),
            Rule::Hold => {}
            Rule::MaxMin | Rule::Equal | Rule::Matching | Rule::Rate(_) => {
                work.select(demand, group);
                let flows = &work.subset;
                match rule {
                    Rule::MaxMin => flows::max_min(demand, flows, after, singles, &mut work.flows),
                    Rule::Equal => flows::equal(demand, flows, after, singles, &mut work.flows),
                    Rule::Rate(rate) => {
                        let capacity = |link: LinkId| capacity[link.index()];
                        flows::fixed(demand, flows, rate, after, capacity, singles)?;
                    }
                    _ => flows::matching(demand, flows, after, singles),
                }
            }
        }
        let senders = demand.senders();
        self.rate = sum_of_differences(&self.before[..senders], &self.after[..senders]);
        if self.rate == 0.0 {
            self.withdraw();
        }
        Ok(())
    }
}

impl Work {
    /// Leaves in `subset` the positions of the active flows of a group, ascending.
    fn select(&mut self, demand: &Demand, group: Group) {
        self.subset.clear();
        match group {
            Group::Everything | Group::Coflow(_) => {
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

/// Whether some sender and some receiver with unfinished flows have capacity.
fn can_send(demand: &Demand, free: &[f64]) -> bool {
    let any =
        |mut links: std::ops::Range<usize>| links.any(|l| free[l] > 0.0 && demand.count()[l] > 0);
    let (senders, receivers) = (demand.senders(), demand.receivers());
    any(0..senders) && any(senders..senders + receivers)
}

/// What a coflow gets: by its own entry, by entries for parts of it, and by backfill.
#[derive(Debug, Default)]
pub struct Grant {
    pub(super) main: Part,
    /// Under weighted layers, what the coflow gets of its layer's share alone.
    pub(super) provisional: Part,
    /// In the order of the plan.
    pub(super) pieces: Vec<Part>,
    pub(super) fill: Fill,
    /// Pieces met so far in the walk `pieces_walk`.
    pub(super) pieces_met: usize,
    pub(super) pieces_walk: u64,
    /// Walk over the plan in which this was last reported as changed.
    pub(super) reported: u64,
}

impl Grant {
    /// Level of each local link in bytes per second; empty when no rate is given by level.
    pub fn levels(&self) -> &[f64] {
        &self.main.levels
    }

    /// Under MADD, rate in bytes per second for each unit of
    /// [`Progress::left`](crate::state::Progress::left); else zero.
    pub fn madd(&self) -> f64 {
        self.main.madd
    }

    /// Whether the coflow has an entry of its own that goes by what is left of it (MADD), though it
    /// may get nothing by it.
    pub fn is_by_size(&self) -> bool {
        matches!(self.main.decided, Some((_, Rule::Madd)))
    }

    /// Rates of single flows, in bytes per second, on top; a flow can occur more than once.
    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        self.parts().flat_map(|part| part.singles.iter().copied()).chain(self.fill.singles())
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        [&self.main].into_iter().chain(&self.pieces)
    }

    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        [&mut self.main, &mut self.provisional].into_iter().chain(&mut self.pieces)
    }

    pub(super) fn clear(&mut self) {
        self.parts_mut().for_each(Part::clear);
        self.fill.clear();
    }

    /// Whether a flow may occur more than once among [`Grant::singles`].
    pub fn may_repeat(&self) -> bool {
        let lists = self.parts().filter(|part| !part.singles.is_empty()).count();
        lists + usize::from(!self.fill.is_empty()) > 1
    }

    /// Bytes per second of the whole coflow.
    pub fn total(&self) -> f64 {
        self.parts().map(|part| part.rate).sum::<f64>() + self.fill.rate
    }

    /// Use of local link `l` by the rates given by level, in bytes per second.
    pub fn used_by_level(&self, l: usize) -> f64 {
        if self.main.levels.is_empty() { 0.0 } else { self.main.used(l) }
    }

    /// Use of local link `l` by the whole coflow, in bytes per second.
    pub fn used(&self, demand: &Demand, l: usize) -> f64 {
        let crosses = |single: &Single| demand.path(single.position as usize).any(|k| k == l);
        let by_fill: f64 = self.fill.singles().filter(crosses).map(|single| single.rate).sum();
        self.parts().map(|part| part.used(l)).sum::<f64>() + by_fill
    }

    /// Rate of the flow at `position` of `coflow`, in bytes per second.
    pub fn rate(&self, coflow: &CoflowState, position: usize) -> f64 {
        let demand = coflow.demand();
        if !demand.is_active(position) {
            return 0.0;
        }
        let by_level = if self.levels().is_empty() {
            0.0
        } else {
            demand.path(position).map(|l| self.levels()[l]).fold(f64::INFINITY, f64::min)
        };
        let by_madd = coflow.progress().left[position] * self.madd();
        let singles = self.singles().filter(|s| s.position as usize == position);
        by_level + by_madd + singles.map(|s| s.rate).sum::<f64>()
    }
}
