//! What a coflow gets from all entries of a plan together.

use super::entry_allocation::{EntryAllocation, Scratch};
use super::found_spare::FoundSpare;
use super::incremental_max_min::LevelChange;
use super::target::Which;
use crate::alloc::error::PlanError;
use crate::alloc::flow_rate::{BySize, Single};
use crate::alloc::rules::madd::is_madd;
use crate::alloc::rules::shuffle_rows::ShuffleRows;
use crate::demand::Demand;
use crate::plan::{Entry, Rule};
use crate::state::CoflowState;

/// Which lists have the single rates of a grant.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Source {
    #[default]
    Nobody,
    /// The running flows of the coflow's own entry.
    Own,
    /// More than one list, or one that is made anew each time.
    Other,
}

/// What a coflow gets: by its own entry, and by entries for parts of it.
#[derive(Debug, Default)]
pub struct Grant {
    pub(in crate::alloc) main: EntryAllocation,
    /// What the coflow gets before what is left over is shared: of what the entries before it leave,
    /// or, where nodes divide their links, of its own parts alone.
    pub(in crate::alloc) provisional: EntryAllocation,
    /// Whether that is all, since backfill is not for the coflow; and the walk that last changed
    /// this.
    pub(in crate::alloc) is_provisional: bool,
    settled_in: u64,
    /// What backfill finds for the coflow.
    pub(in crate::alloc) spare: FoundSpare,
    /// In the order of the plan.
    pub(in crate::alloc) pieces: Vec<EntryAllocation>,
    /// Under max-min fairness, the rows of the coflow; empty when they have to be told apart anew.
    rows: ShuffleRows,
    pub(in crate::alloc) shrinks: Vec<Single>,
    /// Pieces met so far in the walk `pieces_walk`.
    pub(in crate::alloc) pieces_met: usize,
    pub(in crate::alloc) pieces_walk: u64,
    /// Walk over the plan in which this was last reported as changed.
    pub(in crate::alloc) reported: u64,
    source: Source,
    /// Whether the changes of the last walk tell all about single rates.
    by_change: bool,
}

impl Grant {
    /// Whether the coflow gets nothing.
    pub fn is_empty(&self) -> bool {
        self.parts().all(EntryAllocation::is_empty)
    }

    /// What the coflow's own entry gives in the end.
    fn own(&self) -> &EntryAllocation {
        if self.is_provisional { &self.provisional } else { &self.main }
    }

    /// Whether a part counts towards the coflow's rates as last settled. Whoever settles otherwise
    /// reports that.
    pub(in crate::alloc) fn counts(&self, which: Which) -> bool {
        which != Which::Provisional || self.is_provisional
    }

    /// Makes what the coflow has got provisionally all that its own entry gives, or not. Returns
    /// whether that is new on this walk.
    pub(in crate::alloc) fn settle(&mut self, is_provisional: bool, walk: u64) -> bool {
        let is_new = std::mem::replace(&mut self.is_provisional, is_provisional) != is_provisional;
        if is_new {
            self.settled_in = walk;
        }
        is_new
    }

    /// Level of each local link in bytes per second; empty when no rate is given by level.
    pub fn levels(&self) -> &[f64] {
        &self.own().rates.levels
    }

    /// Rates by what is left of each flow, if the coflow has an entry of its own that goes by that,
    /// though it may get nothing by it.
    pub fn by_size(&self) -> Option<BySize<'_>> {
        let EntryAllocation { rates, decided, .. } = self.own();
        let proportional = &rates.by_size;
        let (_, rule) = (*decided)?;
        let (lowest, highest, levels) = match rule {
            Rule::Proportional if proportional.is_uniform() => {
                (proportional.lowest, proportional.lowest, &[][..])
            }
            Rule::Proportional => {
                (proportional.lowest, proportional.highest, &*proportional.levels)
            }
            _ if !is_madd(rule) => return None,
            _ if self.own().is_empty() => (0.0, 0.0, &[][..]),
            _ => (rates.madd_ratio, rates.madd_ratio, &[][..]),
        };
        Some(BySize { lowest, highest, levels })
    }

    /// Where levels have changed in the walk that last reported the grant, a link more than once if
    /// its level has changed in steps; `None` where that cannot be told.
    pub fn level_changes(&self) -> Option<&[LevelChange]> {
        if self.settled_in == self.reported {
            return None;
        }
        if self.own().decided_in != self.reported {
            return Some(&[]);
        }
        self.own().level_changes()
    }

    /// Rates of single flows, in bytes per second, on top; a flow can occur more than once.
    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        self.parts().flat_map(EntryAllocation::singles)
    }

    /// Rates at which compression lessens what is left of flows that are sent meanwhile, in bytes
    /// per second, at most one a flow. They take nothing from links.
    pub fn shrinks(&self) -> &[Single] {
        &self.shrinks
    }

    /// The new rates of flows whose single rate has changed in the walk that last reported the
    /// grant, zero for those that run no more; the others stay, in the same order, and those that
    /// are new come behind them. `None` where that cannot be told.
    pub fn changes(&self) -> Option<impl Iterator<Item = Single> + '_> {
        let own = (self.own().decided_in == self.reported).then(|| self.own().matched.changes());
        self.by_change.then(|| own.into_iter().flatten().copied())
    }

    /// Finds out, after a walk that has reported the grant, whether its changes tell all.
    pub(in crate::alloc) fn conclude(&mut self) {
        let lists = self.parts().any(|part| !part.rates.singles.is_empty())
            || self.pieces.iter().any(|piece| !piece.matched.is_empty());
        let source = match (lists, self.own().matched.is_empty()) {
            (false, true) => Source::Nobody,
            (false, false) => Source::Own,
            _ => Source::Other,
        };
        let before = std::mem::replace(&mut self.source, source);
        let is_other = before == Source::Other || source == Source::Other;
        self.by_change = !is_other && self.settled_in != self.reported;
    }

    /// Whether the coflow has entries for some of its flows, or something provisional.
    pub(in crate::alloc) fn has_other_entries(&self) -> bool {
        !self.pieces.is_empty() || !self.provisional.is_empty()
    }

    /// All parts of the allocation.
    pub(in crate::alloc) fn all_parts(&self) -> impl Iterator<Item = Which> + use<> {
        let subsets = (0..self.pieces.len()).map(Which::Subset);
        [Which::Main, Which::Provisional].into_iter().chain(subsets)
    }

    /// What counts towards the coflow's rates.
    fn parts(&self) -> impl Iterator<Item = &EntryAllocation> {
        [self.own()].into_iter().chain(&self.pieces)
    }

    pub(in crate::alloc) fn part(&self, which: Which) -> &EntryAllocation {
        match which {
            Which::Main => &self.main,
            Which::Provisional => &self.provisional,
            Which::Subset(k) => &self.pieces[k],
        }
    }

    pub(in crate::alloc) fn part_mut(&mut self, which: Which) -> &mut EntryAllocation {
        match which {
            Which::Main => &mut self.main,
            Which::Provisional => &mut self.provisional,
            Which::Subset(k) => &mut self.pieces[k],
        }
    }

    /// Shares what a part says is free; see [`EntryAllocation::decide`].
    pub(in crate::alloc) fn decide(
        &mut self,
        which: Which,
        coflow: &CoflowState,
        entry: &Entry,
        scratch: &mut Scratch,
        capacity: &[f64],
    ) -> Result<bool, PlanError> {
        let mut rows = std::mem::take(&mut self.rows);
        let part = self.part_mut(which);
        let result = part.decide(coflow, entry, scratch, capacity, &mut rows);
        self.rows = rows;
        result
    }

    /// Flows have started or ended, or what is left of them has been brought up to date: all parts
    /// are to be decided anew.
    pub(in crate::alloc) fn touch(&mut self) {
        self.rows.clear();
        self.spare.touch();
        self.parts_mut().for_each(|part| part.decided = None);
    }

    /// The coflow has been sent by size for so many `seconds` over the scale.
    pub(in crate::alloc) fn pass(&mut self, seconds: f64) {
        let own = if self.is_provisional { &mut self.provisional } else { &mut self.main };
        own.rates.by_size.pass(seconds);
    }

    /// What is left of some flows falls faster than a share says that is not in force: it is to be
    /// decided anew.
    pub(in crate::alloc) fn reconsider(&mut self) {
        if !self.is_provisional {
            self.provisional.decided = None;
        }
    }

    pub(in crate::alloc) fn parts_mut(&mut self) -> impl Iterator<Item = &mut EntryAllocation> {
        [&mut self.main, &mut self.provisional].into_iter().chain(&mut self.pieces)
    }

    pub(in crate::alloc) fn clear(&mut self) {
        for part in self.parts_mut() {
            part.clear();
            part.place.forget();
        }
        self.rows.clear();
        self.spare.clear();
        self.spare.waits.forget();
        self.is_provisional = false;
        self.settled_in = 0;
        self.source = Source::Nobody;
        self.shrinks.clear();
    }

    /// Whether a flow may occur more than once among [`Grant::singles`].
    pub fn may_repeat(&self) -> bool {
        let lists = self.parts().filter(|part| part.singles().next().is_some()).count();
        lists > 1
    }

    /// Bytes per second of the whole coflow.
    pub fn total(&self) -> f64 {
        self.parts().map(|part| part.total).sum()
    }

    /// Use of local link `l` by the whole coflow, in bytes per second.
    pub fn used(&self, l: usize) -> f64 {
        self.parts().map(|part| part.used(l)).sum()
    }

    /// Makes `uses` the [`Grant::used`] of all local links.
    pub fn uses(&self, demand: &Demand, uses: &mut Vec<f64>) {
        uses.clear();
        if self.own().is_empty() {
            uses.resize(demand.links().len(), 0.0);
        } else {
            uses.extend(self.own().uses());
        }
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            uses.iter_mut().zip(piece.uses()).for_each(|(all, piece)| *all += piece);
        }
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
        let level = self.by_size().map_or(0.0, |by_size| by_size.level(demand, position));
        let by_size = if level > 0.0 { coflow.progress().left[position] * level } else { 0.0 };
        let singles = self.singles().filter(|s| s.position as usize == position);
        by_level + by_size + singles.map(|s| s.rate).sum::<f64>()
    }
}
