//! The rates that all entries of a plan together give to one coflow.

use super::entry_allocation::{EntryAllocation, Scratch};
use super::found_spare::FoundSpare;
use super::subsets::Subsets;
use super::target::AllocationPart;
use crate::error::PlanError;
use crate::flow_rate::{ByLeft, CompressionRate, FlowRate};
use crate::rules::madd::is_madd;
use covey_core::Demand;
use covey_core::state::CoflowState;
use covey_core::{Entry, Rule};

/// The rates of one coflow: those that its own entry gives, and those of entries for some of its
/// flows. A flow's rate is
///
/// > least water level of its links + (what is left of it) × (its level by bytes left) + its single
/// > rates
///
/// The *water level* of a link is the rate that the link allows each of the coflow's flows.
#[derive(Debug, Default)]
pub struct CoflowAllocation {
    /// What the coflow's own entry gives, backfill included.
    pub(crate) main: EntryAllocation,
    /// What the coflow's own entry gives before backfill: its share of what the entries before it
    /// leave, or, where ports divide their links, its share of its own parts alone.
    pub(crate) provisional: EntryAllocation,
    /// Whether `provisional` is all that the entry gives, since backfill is not for the coflow.
    pub(crate) is_provisional: bool,
    /// The pass that last changed `is_provisional`.
    switched_in: u64,
    /// What backfill finds for the coflow.
    pub(crate) spare: FoundSpare,
    /// What entries for some of the coflow's flows give.
    pub(crate) subsets: Subsets,
    /// What compression takes from flows that are sent, at most one rate a flow.
    compression: Vec<CompressionRate>,
    /// The pass that last reported the coflow as changed.
    pub(crate) reported: u64,
}

impl CoflowAllocation {
    /// Whether the coflow gets nothing.
    pub fn is_empty(&self) -> bool {
        self.parts().all(EntryAllocation::is_empty)
    }

    /// What the coflow's own entry gives in the end.
    fn own(&self) -> &EntryAllocation {
        if self.is_provisional { &self.provisional } else { &self.main }
    }

    /// Whether a part counts towards the coflow's rates. A method that changes this reports the
    /// coflow.
    pub(crate) fn counts(&self, which: AllocationPart) -> bool {
        which != AllocationPart::Provisional || self.is_provisional
    }

    /// Makes what the coflow has got provisionally all that its own entry gives, or not. Returns
    /// whether that is new in this pass.
    pub(crate) fn set_provisional(&mut self, is_provisional: bool, pass: u64) -> bool {
        let is_new = std::mem::replace(&mut self.is_provisional, is_provisional) != is_provisional;
        if is_new {
            self.switched_in = pass;
        }
        is_new
    }

    /// Water level of each local link in bytes per second; empty when no flow has a rate by water
    /// level.
    pub fn water_levels(&self) -> &[f64] {
        let own = self.own();
        if matches!(own.decided, Some((_, Rule::Proportional))) { &[] } else { &own.rates.levels }
    }

    /// Rates by what is left of each flow, if the coflow's own entry has a rule that goes by that,
    /// even if the coflow gets nothing by it.
    pub fn by_left(&self) -> Option<ByLeft<'_>> {
        let own = self.own();
        let (_, rule) = own.decided?;
        let uniform =
            |level| Some(ByLeft { lowest: level, highest: level, levels: &[], limits: &[] });
        match rule {
            Rule::Proportional => Some(own.by_left()),
            _ if !is_madd(rule) => None,
            _ if own.is_empty() => uniform(0.0),
            _ => uniform(own.rates.madd_ratio),
        }
    }

    /// The links whose water level changed in the pass that last reported the coflow. A link whose
    /// level changed in steps is named more than once. `None` where the changes are not known.
    pub fn water_level_changes(&self) -> Option<&[u32]> {
        if self.switched_in == self.reported {
            return None;
        }
        if self.own().decided_in != self.reported {
            return Some(&[]);
        }
        self.own().level_changes()
    }

    /// Positions of flows that another link limits since the pass that last reported the coflow, if
    /// [`CoflowAllocation::water_level_changes`] are known. Some occur twice, some may have ended.
    pub fn moved_flows(&self) -> &[u32] {
        if self.own().decided_in == self.reported { self.own().moved_flows() } else { &[] }
    }

    /// Whether limits are kept, so that [`CoflowAllocation::moved_flows`] will name flows of which
    /// the limit changes.
    pub fn keeps_limits(&self) -> bool {
        self.own().keeps_limits()
    }

    /// The local link that limits an active flow with a rate by water level; without levels, any
    /// link of its path. It stays until the flow is among [`CoflowAllocation::moved_flows`], or
    /// changes are not known.
    pub fn limit(&self, demand: &Demand, position: usize) -> usize {
        self.own().limit(position).unwrap_or_else(|| {
            let (sender, receiver) = demand.ends(position);
            let levels = self.water_levels();
            if levels.is_empty() {
                return sender;
            }
            let lower = |a: usize, b: usize| if levels[b] < levels[a] { b } else { a };
            demand.inner_path(position).fold(lower(sender, receiver), lower)
        })
    }

    /// Rates that flows have of their own, on top of those by level. A flow can occur more than
    /// once.
    pub fn single_rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.parts().flat_map(EntryAllocation::single_rates)
    }

    /// Whether a flow may occur more than once among [`CoflowAllocation::single_rates`].
    pub fn single_rates_may_repeat(&self) -> bool {
        self.parts().filter(|part| part.single_rates().next().is_some()).count() > 1
    }

    /// How fast compression lessens what is left of flows while they are sent, at most one rate a
    /// flow.
    pub fn compression_rates(&self) -> &[CompressionRate] {
        &self.compression
    }

    /// Sets the compression rate of a flow; zero ends it.
    pub(crate) fn set_compression_rate(&mut self, position: u32, rate: f64) {
        self.compression.retain(|compressed| compressed.position != position);
        if rate > 0.0 {
            self.compression.push(CompressionRate { position, rate });
        }
    }

    /// Whether the coflow has entries for some of its flows, or something provisional.
    pub(crate) fn has_other_entries(&self) -> bool {
        !self.subsets.all().is_empty() || !self.provisional.is_empty()
    }

    /// All parts of the allocation.
    pub(crate) fn all_parts(&self) -> impl Iterator<Item = AllocationPart> + use<> {
        let subsets = (0..self.subsets.all().len()).map(AllocationPart::Subset);
        [AllocationPart::Main, AllocationPart::Provisional].into_iter().chain(subsets)
    }

    /// What counts towards the coflow's rates.
    fn parts(&self) -> impl Iterator<Item = &EntryAllocation> {
        [self.own()].into_iter().chain(self.subsets.all())
    }

    pub(crate) fn part(&self, which: AllocationPart) -> &EntryAllocation {
        match which {
            AllocationPart::Main => &self.main,
            AllocationPart::Provisional => &self.provisional,
            AllocationPart::Subset(k) => &self.subsets.all()[k],
        }
    }

    pub(crate) fn part_mut(&mut self, which: AllocationPart) -> &mut EntryAllocation {
        match which {
            AllocationPart::Main => &mut self.main,
            AllocationPart::Provisional => &mut self.provisional,
            AllocationPart::Subset(k) => &mut self.subsets.all_mut()[k],
        }
    }

    /// Shares the capacity that a part has found free; see [`EntryAllocation::decide`].
    pub(crate) fn decide(
        &mut self,
        which: AllocationPart,
        coflow: &CoflowState,
        entry: &Entry,
        scratch: &mut Scratch,
        capacity: &[f64],
    ) -> Result<bool, PlanError> {
        self.part_mut(which).decide(coflow, entry, scratch, capacity)
    }

    /// Flows have started or ended, or what is left of them has been brought up to date: the next
    /// pass decides all parts again.
    pub(crate) fn touch(&mut self) {
        self.spare.touch();
        self.parts_mut().for_each(|part| part.decided = None);
    }

    /// The coflow has been sent by bytes left for so many `seconds` over the scale.
    pub(crate) fn elapse(&mut self, seconds: f64) {
        let own = if self.is_provisional { &mut self.provisional } else { &mut self.main };
        own.elapse(seconds);
    }

    /// Some flows send faster than the provisional share says, which is not in force. So the next
    /// pass decides that share again.
    pub(crate) fn reconsider(&mut self) {
        if !self.is_provisional {
            self.provisional.decided = None;
        }
    }

    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = &mut EntryAllocation> {
        [&mut self.main, &mut self.provisional].into_iter().chain(self.subsets.all_mut())
    }

    pub(crate) fn clear(&mut self) {
        self.parts_mut().for_each(EntryAllocation::restart);
        self.spare.clear();
        self.is_provisional = false;
        self.switched_in = 0;
        self.compression.clear();
    }

    /// Bytes per second of the whole coflow.
    pub fn total(&self) -> f64 {
        self.parts().map(|part| part.total).sum()
    }

    /// Bytes per second that the coflow sends over local link `l`.
    pub fn used(&self, l: usize) -> f64 {
        self.parts().map(|part| part.used(l)).sum()
    }

    /// Bytes per second that the coflow's flows send over local link `l` by the rates of
    /// [`CoflowAllocation::by_left`].
    pub fn used_by_left(&self, l: usize) -> f64 {
        self.own().used(l)
    }

    /// Replaces `rates` by [`CoflowAllocation::used`] of all local links.
    pub fn link_rates(&self, demand: &Demand, rates: &mut Vec<f64>) {
        rates.clear();
        if self.own().is_empty() {
            rates.resize(demand.links().len(), 0.0);
        } else {
            rates.extend(self.own().uses());
        }
        for subset in self.subsets.all().iter().filter(|subset| !subset.is_empty()) {
            rates.iter_mut().zip(subset.uses()).for_each(|(all, subset)| *all += subset);
        }
    }

    /// The rate that levels give to an active flow, by water and by bytes left.
    fn rate_by_level(&self, coflow: &CoflowState, position: usize) -> f64 {
        let demand = coflow.demand();
        let by_water = match self.water_levels() {
            [] => 0.0,
            levels => demand.path(position).map(|l| levels[l]).fold(f64::INFINITY, f64::min),
        };
        // Bytes left may be unknown where no rate goes by them.
        let level = self.by_left().map_or(0.0, |by_left| by_left.level(position));
        by_water + if level > 0.0 { coflow.progress().left[position] * level } else { 0.0 }
    }

    /// Rate of the flow at `position` of `coflow`, in bytes per second.
    pub fn rate(&self, coflow: &CoflowState, position: usize) -> f64 {
        if !coflow.demand().is_active(position) {
            return 0.0;
        }
        let own = self.single_rates().filter(|own| own.position as usize == position);
        self.rate_by_level(coflow, position) + own.map(|own| own.rate).sum::<f64>()
    }

    /// Replaces `rates` by those of the active flows, by position; flows that get nothing may be
    /// left out.
    pub fn flow_rates(&self, coflow: &CoflowState, rates: &mut Vec<FlowRate>) {
        rates.clear();
        let demand = coflow.demand();
        let by_left = self.by_left().is_some_and(|by_left| by_left.highest > 0.0);
        if by_left || !self.water_levels().is_empty() {
            let rate = |p: usize| self.rate_by_level(coflow, p);
            rates.extend(demand.active().map(|p| FlowRate { position: p as u32, rate: rate(p) }));
        }
        rates.extend(self.single_rates().filter(|own| demand.is_active(own.position as usize)));
        FlowRate::merge(rates);
    }
}
