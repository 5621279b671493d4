//! What a coflow gets from all entries of a plan together.

use super::backfill::SpareAt;
use super::part::{Part, is_madd};
use super::ripple::LevelChange;
use super::rows::Rows;
use super::{PlanError, Work};
use crate::demand::Demand;
use crate::plan::{Entry, Rule};
use crate::state::CoflowState;

/// A rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Single {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// Which part of a grant an entry decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Main,
    Provisional,
    Piece(usize),
}

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

/// Rates in proportion to what is left of each flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BySize<'a> {
    /// The lowest and the highest level of a flow: its rate in bytes per second for each unit of
    /// [`Progress::left`](crate::state::Progress::left). Zero where the coflow gets nothing.
    pub lowest: f64,
    /// See `lowest`.
    pub highest: f64,
    /// Level of each local link, of which the least on its path is a flow's; empty when all flows
    /// have the same.
    pub levels: &'a [f64],
}

impl BySize<'_> {
    /// What part of what is left of a flow its level beyond the lowest sends in so many `seconds` over
    /// [`Progress::scale`](crate::state::Progress::scale). Something is left: which flows end is decided
    /// by time.
    #[inline]
    pub fn sent(lowest: f64, level: f64, seconds: f64) -> f64 {
        let part = (level - lowest) * seconds;
        if part < 1.0 - f64::EPSILON { part } else { 1.0 - f64::EPSILON }
    }

    /// The level that gives a flow the rate which `level` has given it so far, once what that has
    /// [sent](BySize::sent) is taken from what is left. Levels keep their order, so a link's becomes that
    /// of the flows that it limits.
    #[inline]
    pub fn raise(lowest: f64, level: f64, seconds: f64) -> f64 {
        (level / (1.0 - BySize::sent(lowest, level, seconds))).min(f64::MAX)
    }

    /// Level of the flow at `position`.
    pub fn level(&self, demand: &Demand, position: usize) -> f64 {
        let least =
            |levels: &[f64]| demand.path(position).map(|l| levels[l]).fold(f64::MAX, f64::min);
        if self.levels.is_empty() { self.lowest } else { least(self.levels) }
    }
}

/// What a coflow gets: by its own entry, and by entries for parts of it.
#[derive(Debug, Default)]
pub struct Grant {
    pub(super) main: Part,
    /// What the coflow gets before what is left over is shared: of what the entries before it leave,
    /// or, where nodes divide their links, of its own parts alone.
    pub(super) provisional: Part,
    /// Whether that is all, since backfill is not for the coflow; and the walk that last changed this.
    pub(super) is_provisional: bool,
    settled_in: u64,
    /// What backfill finds for the coflow.
    pub(super) spare: SpareAt,
    /// In the order of the plan.
    pub(super) pieces: Vec<Part>,
    /// Under max-min fairness, the rows of the coflow; empty when they have to be told apart anew.
    rows: Rows,
    pub(super) shrinks: Vec<Single>,
    /// Pieces met so far in the walk `pieces_walk`.
    pub(super) pieces_met: usize,
    pub(super) pieces_walk: u64,
    /// Walk over the plan in which this was last reported as changed.
    pub(super) reported: u64,
    source: Source,
    /// Whether the changes of the last walk tell all about single rates.
    by_change: bool,
}

impl Grant {
    /// Whether the coflow gets nothing.
    pub fn is_empty(&self) -> bool {
        self.parts().all(Part::is_empty)
    }

    /// What the coflow's own entry gives in the end.
    fn own(&self) -> &Part {
        if self.is_provisional { &self.provisional } else { &self.main }
    }

    /// Whether a part counts towards the coflow's rates as last settled. Whoever settles otherwise
    /// reports that.
    pub(super) fn counts(&self, which: Which) -> bool {
        which != Which::Provisional || self.is_provisional
    }

    /// Makes what the coflow has got provisionally all that its own entry gives, or not. Returns whether
    /// that is new on this walk.
    pub(super) fn settle(&mut self, is_provisional: bool, walk: u64) -> bool {
        let is_new = std::mem::replace(&mut self.is_provisional, is_provisional) != is_provisional;
        if is_new {
            self.settled_in = walk;
        }
        is_new
    }

    /// Level of each local link in bytes per second; empty when no rate is given by level.
    pub fn levels(&self) -> &[f64] {
        &self.own().levels
    }

    /// Rates by what is left of each flow, if the coflow has an entry of its own that goes by that,
    /// though it may get nothing by it.
    pub fn by_size(&self) -> Option<BySize<'_>> {
        let Part { madd, proportional, decided, .. } = self.own();
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
            _ => (madd.ratio(), madd.ratio(), &[][..]),
        };
        Some(BySize { lowest, highest, levels })
    }

    /// Where levels have changed in the walk that last reported the grant, a link more than once if its
    /// level has changed in steps; `None` where that cannot be told.
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
        self.parts().flat_map(Part::singles)
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
        let own = (self.own().decided_in == self.reported).then(|| self.own().takers.changes());
        self.by_change.then(|| own.into_iter().flatten().copied())
    }

    /// Finds out, after a walk that has reported the grant, whether its changes tell all.
    pub(super) fn conclude(&mut self) {
        let lists = self.parts().any(|part| !part.singles.is_empty())
            || self.pieces.iter().any(|piece| !piece.takers.is_empty());
        let source = match (lists, self.own().takers.is_empty()) {
            (false, true) => Source::Nobody,
            (false, false) => Source::Own,
            _ => Source::Other,
        };
        let before = std::mem::replace(&mut self.source, source);
        let is_other = before == Source::Other || source == Source::Other;
        self.by_change = !is_other && self.settled_in != self.reported;
    }

    /// What counts towards the coflow's rates.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        [self.own()].into_iter().chain(&self.pieces)
    }

    pub(super) fn part(&self, which: Which) -> &Part {
        match which {
            Which::Main => &self.main,
            Which::Provisional => &self.provisional,
            Which::Piece(k) => &self.pieces[k],
        }
    }

    pub(super) fn part_mut(&mut self, which: Which) -> &mut Part {
        match which {
            Which::Main => &mut self.main,
            Which::Provisional => &mut self.provisional,
            Which::Piece(k) => &mut self.pieces[k],
        }
    }

    /// Shares what a part says is free; see [`Part::decide`].
    pub(super) fn decide(
        &mut self,
        which: Which,
        coflow: &CoflowState,
        entry: &Entry,
        work: &mut Work,
        capacity: &[f64],
    ) -> Result<bool, PlanError> {
        let mut rows = std::mem::take(&mut self.rows);
        let part = self.part_mut(which);
        let result = part.decide(coflow, entry, work, capacity, &mut rows);
        self.rows = rows;
        result
    }

    /// Flows have started or ended, or what is left of them has been brought up to date: all parts are
    /// to be decided anew.
    pub(super) fn touch(&mut self) {
        self.rows.clear();
        self.spare.touch();
        self.parts_mut().for_each(|part| part.decided = None);
    }

    /// The coflow has been sent by size for so many `seconds` over the scale.
    pub(super) fn pass(&mut self, seconds: f64) {
        let own = if self.is_provisional { &mut self.provisional } else { &mut self.main };
        own.proportional.pass(seconds);
    }

    /// What is left of some flows falls faster than a share says that is not in force: it is to be decided
    /// anew.
    pub(super) fn reconsider(&mut self) {
        if !self.is_provisional {
            self.provisional.decided = None;
        }
    }

    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        [&mut self.main, &mut self.provisional].into_iter().chain(&mut self.pieces)
    }

    pub(super) fn clear(&mut self) {
        self.parts_mut().for_each(Part::clear);
        self.rows.clear();
        self.spare.clear();
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
        self.parts().map(|part| part.rate).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_level_keeps_the_rate_of_what_is_left() {
        let (lowest, level, left) = (0.5, 2.0, 3.0);
        for seconds in [0.0, 0.1, 0.4, 0.66] {
            let rest = left * (1.0 - BySize::sent(lowest, level, seconds));
            let rate = rest * BySize::raise(lowest, level, seconds);
            assert!((rate - left * level).abs() < 1e-12, "after {seconds}");
        }
        assert_eq!(BySize::raise(lowest, lowest, 9.0), lowest);
        // A link that limits nobody goes on to limit nobody; a flow that is at its end keeps something.
        assert_eq!(BySize::raise(lowest, f64::MAX, 0.1), f64::MAX);
        assert!(BySize::sent(lowest, level, 1.0) < 1.0);
    }

    #[test]
    fn in_two_steps_levels_rise_as_in_one() {
        let (lowest, level, first, second) = (0.5, 2.0, 0.2, 0.15);
        let both = first + second + lowest * first * second;
        let once = BySize::raise(lowest, level, both);
        let twice = BySize::raise(lowest, BySize::raise(lowest, level, first), second);
        assert!((once - twice).abs() < 1e-12 * once, "{once} {twice}");
    }
}
