//! What a coflow gets, and how one entry of a plan decides it.

use super::{Work, equal, madd, matching, max_min};
use crate::alloc::PlanError;
use crate::demand::Demand;
use crate::plan::Rule;
use crate::state::CoflowState;

/// A rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Single {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// What an entry for a whole coflow, or backfill, gives to it.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Rule this was decided by; `None` when it has to be decided anew.
    pub rule: Option<Rule>,
    /// Free capacity at the coflow's links before and after; empty before the first decision.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    levels: Vec<f64>,
    inverse_gamma: f64,
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
        self.rule = None;
        self.before.clear();
        self.after.clear();
        self.withdraw();
    }

    fn withdraw(&mut self) {
        self.levels.clear();
        self.inverse_gamma = 0.0;
        self.singles.clear();
        self.rate = 0.0;
    }

    fn used(&self, l: usize) -> f64 {
        if self.is_empty() { 0.0 } else { self.before[l] - self.after[l] }
    }

    /// Shares the capacity in `work.local` among the coflow's flows by `rule`.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        rule: Rule,
        work: &mut Work,
        capacity: &[f64],
    ) -> Result<(), PlanError> {
        self.rule = Some(rule);
        self.before.clone_from(&work.local);
        self.after.clone_from(&work.local);
        let demand = coflow.demand();
        if !matches!(rule, Rule::Rate(_)) && !can_send(demand, &self.before) {
            self.withdraw();
            return Ok(());
        }
        self.levels.clear();
        self.inverse_gamma = 0.0;
        if rule != Rule::Matching {
            self.singles.clear();
        }
        let after = &mut self.after;
        match rule {
            Rule::MaxMin if demand.is_bipartite() => {
                max_min::fill(demand, &self.before, &mut work.filling);
                self.levels.extend_from_slice(&work.filling.level);
                after.clear();
                after.extend(work.filling.free.iter().map(|free| free.max(0.0)));
            }
            Rule::Equal if demand.is_bipartite() => {
                equal::levels(demand, after, &mut self.levels, &mut work.counts);
            }
            Rule::Matching if demand.is_bipartite() => {
                matching::grant(demand, after, &mut self.singles, &mut work.matching);
            }
            Rule::Madd => {
                let progress = coflow.progress();
                let by_scale = madd::inverse_gamma(&progress.link_left, &self.before);
                self.inverse_gamma = by_scale / progress.scale;
                for (after, left) in after.iter_mut().zip(&progress.link_left) {
                    *after = (*after - left * by_scale).max(0.0);
                }
            }
            _ => {
                work.subset.clear();
                work.subset.extend(demand.active().map(|p| p as u32));
                work.local.clone_from(after);
                work.share_flows(demand, rule, capacity, &mut self.singles)?;
                after.clone_from(&work.local);
            }
        }
        let senders = demand.senders();
        self.rate = self.before[..senders].iter().zip(&self.after).map(|(b, a)| b - a).sum();
        Ok(())
    }
}

/// Whether some sender and some receiver with unfinished flows have capacity.
fn can_send(demand: &Demand, free: &[f64]) -> bool {
    let any = |mut links: std::ops::Range<usize>| {
        links.any(|l| free[l] > 0.0 && demand.count()[l] > 0)
    };
    let (senders, receivers) = (demand.senders(), demand.receivers());
    any(0..senders) && any(senders..senders + receivers)
}

/// Rates by entries for single flows, or for a coflow at one link.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub singles: Vec<Single>,
    /// As of the walk before.
    pub previous: Vec<Single>,
    /// Walk over the plan in which `singles` was last written.
    pub walk: u64,
}

/// What a coflow gets: by its own entry, by entries for parts of it, and by backfill.
#[derive(Debug, Default)]
pub struct Grant {
    pub(super) main: Part,
    pub(super) fill: Part,
    pub(super) pieces: Pieces,
    /// Walk over the plan in which this was last reported as changed.
    pub(super) reported: u64,
}

impl Grant {
    /// Level of each local link in bytes per second; empty when no rate is given by level.
    pub fn levels(&self) -> &[f64] {
        &self.main.levels
    }

    /// 1/Γ: a flow is sent at this times its bytes left, per second. Zero without MADD.
    pub fn inverse_gamma(&self) -> f64 {
        self.main.inverse_gamma
    }

    /// Rates of single flows, in bytes per second, on top; a flow can occur more than once.
    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        let [main, pieces, fill] = self.lists();
        main.iter().chain(pieces).chain(fill).copied()
    }

    fn lists(&self) -> [&[Single]; 3] {
        [&self.main.singles, &self.pieces.singles, &self.fill.singles]
    }

    /// Whether a flow may occur more than once among [`Grant::singles`].
    pub fn may_repeat(&self) -> bool {
        self.lists().iter().filter(|list| !list.is_empty()).count() > 1
            || self.pieces.singles.len() > 1
    }

    /// Bytes per second of the whole coflow.
    pub fn total(&self) -> f64 {
        self.main.rate + self.fill.rate + self.pieces.singles.iter().map(|s| s.rate).sum::<f64>()
    }

    /// Use of local link `l` by the rates given by level, in bytes per second.
    pub fn used_by_level(&self, l: usize) -> f64 {
        if self.main.levels.is_empty() { 0.0 } else { self.main.used(l) }
    }

    /// Use of local link `l` by the whole coflow, in bytes per second.
    pub fn used(&self, demand: &Demand, l: usize) -> f64 {
        let crosses = |single: &&Single| demand.path(single.position as usize).any(|k| k == l);
        let by_pieces: f64 = self.pieces.singles.iter().filter(crosses).map(|s| s.rate).sum();
        self.main.used(l) + self.fill.used(l) + by_pieces
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
        let left = coflow.progress().left[position] * coflow.progress().scale;
        let single = self.singles().filter(|s| s.position as usize == position);
        by_level + left * self.inverse_gamma() + single.map(|s| s.rate).sum::<f64>()
    }

    pub(super) fn clear(&mut self) {
        self.main.clear();
        self.fill.clear();
        self.pieces.singles.clear();
        self.pieces.previous.clear();
    }
}
