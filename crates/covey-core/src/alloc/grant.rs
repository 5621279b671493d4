//! The rates that all entries of a plan together give to one coflow.

use super::backfill::SpareAt;
use super::part::{Part, is_madd};
use super::ripple::LevelChange;
use super::rows::Rows;
use super::{PlanError, Work};
use crate::demand::Demand;
use crate::plan::{Entry, Rule};
use crate::state::CoflowState;

/// The rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowRate {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// How fast compression lessens what is left of one flow while the flow is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressionRate {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second. They are taken from what is left, and use no link.
    pub rate: f64,
}

/// Which part of a coflow's allocation an entry decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Main,
    Provisional,
    Piece(usize),
}

/// Which lists hold the flows' own rates.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Source {
    #[default]
    Nobody,
    /// The running flows of the coflow's own entry.
    Own,
    /// More than one list, or a list that is rewritten by each decision.
    Other,
}

/// Rates in proportion to what is left of each flow. A flow's *level by size* is its rate in bytes
/// per second for each unit of [`Progress::left`](crate::state::Progress::left).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BySize<'a> {
    /// The lowest level of a flow. Zero where the coflow gets nothing.
    pub lowest: f64,
    /// The highest level of a flow. Zero where the coflow gets nothing.
    pub highest: f64,
    /// Level of each local link; a flow has the least level of its links. Empty when all flows have
    /// the same level.
    pub levels: &'a [f64],
}

impl BySize<'_> {
    /// The part of what is left of a flow that its level beyond the lowest sends in `seconds` over
    /// [`Progress::scale`](crate::state::Progress::scale). The part is less than one: time decides
    /// which flows end, not bytes.
    #[inline]
    pub fn sent(lowest: f64, level: f64, seconds: f64) -> f64 {
        let part = (level - lowest) * seconds;
        if part < 1.0 - f64::EPSILON { part } else { 1.0 - f64::EPSILON }
    }

    /// The level that gives a flow the same rate as `level` did, once the bytes that `level` has
    /// [sent](BySize::sent) are taken from what is left. Levels keep their order, so a link's new
    /// level is the level of the flows that the link limits.
    #[inline]
    pub fn raise(lowest: f64, level: f64, seconds: f64) -> f64 {
        (level / (1.0 - BySize::sent(lowest, level, seconds))).min(f64::MAX)
    }

    /// Level by size of the flow at `position`.
    pub fn level(&self, demand: &Demand, position: usize) -> f64 {
        let least =
            |levels: &[f64]| demand.path(position).map(|l| levels[l]).fold(f64::MAX, f64::min);
        if self.levels.is_empty() { self.lowest } else { least(self.levels) }
    }
}

/// The rates of one coflow: those that its own entry gives, and those of entries for some of its
/// flows. A flow's rate is
///
/// > least water level of its links + (what is left of it) × (its level by size) + its own rates
///
/// The *water level* of a link is the rate that the link allows each of the coflow's flows.
#[derive(Debug, Default)]
pub struct CoflowAllocation {
    /// What the coflow's own entry gives, backfill included.
    pub(super) main: Part,
    /// What the coflow's own entry gives before backfill: its share of what the entries before it
    /// leave, or, where nodes divide their links, its share of its own parts alone.
    pub(super) provisional: Part,
    /// Whether `provisional` is all that the entry gives, since backfill is not for the coflow.
    pub(super) is_provisional: bool,
    /// The walk that last changed `is_provisional`.
    settled_in: u64,
    /// What backfill finds for the coflow.
    pub(super) spare: SpareAt,
    /// What entries for some of the coflow's flows give, in the order of the plan.
    pub(super) pieces: Vec<Part>,
    /// Under max-min fairness, which rows of the coflow are the same; empty when not worked out.
    rows: Rows,
    /// What compression takes from flows that are sent, at most one rate a flow.
    compression: Vec<CompressionRate>,
    /// Pieces met so far in the walk `pieces_walk`.
    pub(super) pieces_met: usize,
    /// The walk that last met a piece.
    pub(super) pieces_walk: u64,
    /// The walk that last reported the coflow as changed.
    pub(super) reported: u64,
    /// Which lists hold the flows' own rates.
    source: Source,
    /// Whether the last walk's changes of own rates are all that has changed of them.
    by_change: bool,
}

impl CoflowAllocation {
    /// Whether the coflow gets nothing.
    pub fn is_empty(&self) -> bool {
        self.parts().all(Part::is_empty)
    }

    /// What the coflow's own entry gives in the end.
    fn own(&self) -> &Part {
        if self.is_provisional { &self.provisional } else { &self.main }
    }

    /// Whether a part counts towards the coflow's rates as last settled. A caller that settles
    /// otherwise reports the coflow.
    pub(super) fn counts(&self, which: Which) -> bool {
        which != Which::Provisional || self.is_provisional
    }

    /// Says whether the provisional part is all that the coflow's own entry gives. Returns whether
    /// this walk is the first to say so.
    pub(super) fn settle(&mut self, is_provisional: bool, walk: u64) -> bool {
        let is_new = std::mem::replace(&mut self.is_provisional, is_provisional) != is_provisional;
        if is_new {
            self.settled_in = walk;
        }
        is_new
    }

    /// Water level of each local link in bytes per second; empty when no flow has a rate by water
    /// level.
    pub fn water_levels(&self) -> &[f64] {
        &self.own().levels
    }

    /// Rates by what is left of each flow, if the coflow's own entry has a rule that goes by that,
    /// even if the coflow gets nothing by it.
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

    /// The links whose water level changed in the walk that last reported the coflow. A link whose
    /// level changed in steps is named more than once. `None` where the changes are not known.
    pub fn water_level_changes(&self) -> Option<&[LevelChange]> {
        if self.settled_in == self.reported {
            return None;
        }
        if self.own().decided_in != self.reported {
            return Some(&[]);
        }
        self.own().level_changes()
    }

    /// Rates that flows have of their own, on top of those by level. A flow can occur more than
    /// once.
    pub fn own_rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.parts().flat_map(Part::singles)
    }

    /// Whether a flow may occur more than once among [`CoflowAllocation::own_rates`].
    pub fn own_rates_may_repeat(&self) -> bool {
        let lists = self.parts().filter(|part| part.singles().next().is_some()).count();
        lists > 1
    }

    /// The flows whose own rate changed in the walk that last reported the coflow, each with its new
    /// rate, which is zero for a flow that has none any more. The other flows keep their rates and
    /// their order, and new flows come last. `None` where the changes are not known.
    pub fn own_rate_changes(&self) -> Option<impl Iterator<Item = FlowRate> + '_> {
        let own = (self.own().decided_in == self.reported).then(|| self.own().takers.changes());
        self.by_change.then(|| own.into_iter().flatten().copied())
    }

    /// How fast compression lessens what is left of flows while they are sent, at most one rate a
    /// flow.
    pub fn compression_rates(&self) -> &[CompressionRate] {
        &self.compression
    }

    /// Sets the compression rate of a flow; zero ends it.
    pub(super) fn set_compression_rate(&mut self, position: u32, rate: f64) {
        self.compression.retain(|compressed| compressed.position != position);
        if rate > 0.0 {
            self.compression.push(CompressionRate { position, rate });
        }
    }

    /// Works out, after a walk that has reported the coflow, whether the changes of own rates are all.
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

    /// The parts that count towards the coflow's rates.
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

    /// Shares the capacity that a part has found free; see [`Part::decide`].
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

    /// Flows have started or ended, or what is left of them was brought up to date: all parts have to
    /// be decided again.
    pub(super) fn touch(&mut self) {
        self.rows.clear();
        self.spare.touch();
        self.parts_mut().for_each(|part| part.decided = None);
    }

    /// The coflow has been sent by size for `seconds` over the scale.
    pub(super) fn pass(&mut self, seconds: f64) {
        let own = if self.is_provisional { &mut self.provisional } else { &mut self.main };
        own.proportional.pass(seconds);
    }

    /// What is left of some flows falls faster than the provisional share assumes, if that is not in
    /// force: it has to be decided again.
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
        self.compression.clear();
    }

    /// Bytes per second of the whole coflow.
    pub fn total(&self) -> f64 {
        self.parts().map(|part| part.rate).sum()
    }

    /// Bytes per second that the coflow sends over local link `l`.
    pub fn used(&self, l: usize) -> f64 {
        self.parts().map(|part| part.used(l)).sum()
    }

    /// Replaces `rates` by [`CoflowAllocation::used`] of all local links.
    pub fn link_rates(&self, demand: &Demand, rates: &mut Vec<f64>) {
        rates.clear();
        if self.own().is_empty() {
            rates.resize(demand.links().len(), 0.0);
        } else {
            rates.extend(self.own().uses());
        }
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            rates.iter_mut().zip(piece.uses()).for_each(|(all, piece)| *all += piece);
        }
    }

    /// The rate that levels give to an active flow, by water and by size.
    fn rate_by_level(&self, coflow: &CoflowState, position: usize) -> f64 {
        let demand = coflow.demand();
        let by_water = match self.water_levels() {
            [] => 0.0,
            levels => demand.path(position).map(|l| levels[l]).fold(f64::INFINITY, f64::min),
        };
        // What is left may not be known where no rate goes by it.
        let level = self.by_size().map_or(0.0, |by_size| by_size.level(demand, position));
        by_water + if level > 0.0 { coflow.progress().left[position] * level } else { 0.0 }
    }

    /// Rate of the flow at `position` of `coflow`, in bytes per second.
    pub fn rate(&self, coflow: &CoflowState, position: usize) -> f64 {
        if !coflow.demand().is_active(position) {
            return 0.0;
        }
        let own = self.own_rates().filter(|own| own.position as usize == position);
        self.rate_by_level(coflow, position) + own.map(|own| own.rate).sum::<f64>()
    }

    /// Replaces `rates` by those of the active flows, by position; flows that get nothing may be
    /// left out.
    pub fn flow_rates(&self, coflow: &CoflowState, rates: &mut Vec<FlowRate>) {
        rates.clear();
        let demand = coflow.demand();
        let by_size = self.by_size().is_some_and(|by_size| by_size.highest > 0.0);
        if by_size || !self.water_levels().is_empty() {
            let rate = |p: usize| self.rate_by_level(coflow, p);
            rates.extend(demand.active().map(|p| FlowRate { position: p as u32, rate: rate(p) }));
        }
        rates.extend(self.own_rates().filter(|own| demand.is_active(own.position as usize)));
        FlowRate::merge(rates);
    }
}

impl FlowRate {
    /// Sorts `rates` by position and adds up those of the same flow.
    pub fn merge(rates: &mut Vec<FlowRate>) {
        rates.sort_unstable_by_key(|flow| flow.position);
        rates.dedup_by(|next, kept| {
            let same = next.position == kept.position;
            kept.rate += if same { next.rate } else { 0.0 };
            same
        });
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
        // A link that limits no flow goes on to limit none; a flow at its end keeps something.
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
