//! The flows of one entry and the water levels of their links, kept from one decision to the next.
//!
//! A decision tells what has changed since the last one: flows that have come or gone, what is free
//! at links, and, where flows count for what is left of them, what that is. Only what is out of
//! balance is worked out again.

use crate::flow_rate::ByLeft;
use crate::rules::sharing::UNLIMITED;
use crate::water::bundles::Bundles;
use crate::water::water_levels::{LinkUse, MAX_DENSE_LINKS, WaterLevels};
use covey_core::Demand;
use covey_core::OptionalIndex;
use covey_core::sets::bits::bits;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::sets::simd::bitmask;

/// Differences below this part of a link's capacity are rounding.
const ROUNDING: f64 = 4e-12;

/// What is left of a flow is what the levels go by, if it differs by less than this part.
const SAME_LEFT: f64 = 1e-9;

/// A flow counts for so many bytes at least: one of which nothing is left has a level, too, and
/// ends by it.
const LEAST_LEFT: f64 = 1e-12;

/// If more flows than this, and one more in four, are others than before, levels are worked out
/// from nothing.
const FEW: usize = 8;

/// If another amount may be free at more than one of so many links, all are looked at.
const LINKS_PER_UNSEEN: usize = 8;

/// Which flows of a coflow share, and what each of them counts for.
#[derive(Debug, Clone, Copy)]
pub enum Members<'a> {
    /// All active flows, each for one.
    All,
    /// All active flows, each for what is left of it, by position.
    ByLeft(&'a [f64]),
}

/// Levels that are kept. Each flow is a bundle of its own, whose number is its position.
#[derive(Debug, Default)]
pub struct KeptLevels {
    bundles: Bundles,
    water: WaterLevels,
    /// The flows, a bit for each position; each sender's row from a word of its own.
    active: Vec<u64>,
    /// Whether the next decision goes on from the last one.
    is_kept: bool,
    /// Whether flows count for what is left of them.
    is_by_left: bool,
    /// Whether [`KeptLevels::changed`] are all links that have another level since the previous
    /// decision.
    tells_changes: bool,
    /// Links at which another amount may be free than the levels know; some occur twice.
    unseen: Vec<u32>,
    /// Whether there may be others.
    all_unseen: bool,
    /// Working memory: flows that come, go, or count for something else.
    others: Vec<u32>,
}

impl KeptLevels {
    /// A decision begins. No level has changed so far.
    pub fn start(&mut self) {
        self.water.clear_changes();
        self.tells_changes = true;
    }

    /// The next decision works all levels out from nothing.
    pub fn forget(&mut self) {
        self.is_kept = false;
        self.tells_changes = false;
    }

    /// Whether the link that limits each flow is known.
    pub fn keeps_limits(&self) -> bool {
        self.is_kept
    }

    /// Another amount may be free at some links, of which [`KeptLevels::share`] is not told.
    pub fn miss(&mut self, links: impl Iterator<Item = usize>) {
        let most = self.water.levels().len() / LINKS_PER_UNSEEN;
        let room = (most + 1).saturating_sub(self.unseen.len());
        self.unseen.extend(links.take(room).map(|l| l as u32));
        self.all_unseen |= self.unseen.len() > most;
    }

    /// The link that limits each flow, by position; of several with the same level, one of them for
    /// as long as the flow is not [moved](KeptLevels::moved).
    pub fn limits(&self) -> &[OptionalIndex] {
        self.bundles.all_attached()
    }

    /// Links with other levels than before the last decision, some of them twice; `None` if all may
    /// have others.
    pub fn changed(&self) -> Option<&[u32]> {
        self.tells_changes.then_some(&*self.water.changes().levels)
    }

    /// Positions of flows that another link limits than before the last decision, some of them
    /// twice. Some may have ended.
    pub fn moved(&self) -> &[u32] {
        &self.water.changes().bundles
    }

    /// The coflow has been sent by bytes left for `seconds` over the scale, and what is left says
    /// so: levels rise so that rates stay. `lowest` is the lowest level of a flow.
    pub fn elapse(&mut self, lowest: f64, seconds: f64) {
        if !self.is_kept {
            return;
        }
        let part = |level: f64| 1.0 - ByLeft::sent(lowest, level, seconds);
        let raise = |level: f64| ByLeft::raise(lowest, level, seconds);
        self.water.shrink(&mut self.bundles, part, raise);
    }

    /// Brings the levels up to date after `free` (bytes per second at the local links, which carry
    /// a `capacity` at most) has changed at `dirty` links, and those that were missed. Returns
    /// whether they have gone on from the last decision; otherwise all may be others.
    pub fn share(
        &mut self,
        demand: &Demand,
        members: Members<'_>,
        capacity: impl ExactSizeIterator<Item = f64> + Clone,
        free: &[f64],
        dirty: &MarkedLinks,
    ) -> bool {
        let by_left = matches!(members, Members::ByLeft(_));
        let goes_on = self.is_kept && self.is_by_left == by_left;
        if !goes_on || !self.follow(demand, members) {
            self.is_by_left = by_left;
            self.begin(demand, members, capacity, free);
            self.tells_changes = false;
            return false;
        }
        if !self.water.is_dense() {
            self.miss(dirty.iter());
        }
        if std::mem::take(&mut self.all_unseen) || self.water.is_dense() {
            self.unseen.clear();
            self.water.set_all_free(free);
        } else {
            self.unseen.iter().for_each(|&l| self.water.set_free(l as usize, free[l as usize]));
            debug_assert!(self.water.knows(free));
        }
        self.water.balance(&mut self.bundles);
        true
    }

    fn begin(
        &mut self,
        demand: &Demand,
        members: Members<'_>,
        capacity: impl ExactSizeIterator<Item = f64> + Clone,
        free: &[f64],
    ) {
        let KeptLevels { bundles, water, .. } = self;
        let links = free.len();
        let is_dense =
            !self.is_by_left && links <= MAX_DENSE_LINKS && demand.unfinished() as usize >= links;
        water.clear(capacity, is_dense);
        bundles.make_room(demand.width(), self.is_by_left);
        for position in demand.active() {
            let path = demand.whole_path(position);
            bundles.lay(position as u32, path.iter().copied(), members.weight(position));
            water.enter(bundles, position as u32);
        }
        water.set_all_free(free);
        water.note_touched();
        water.fill(bundles);
        self.is_kept = true;
        self.write_active(demand);
        self.unseen.clear();
        self.all_unseen = false;
    }

    fn write_active(&mut self, demand: &Demand) {
        self.active.clear();
        self.active.extend((0..demand.senders()).flat_map(|s| demand.row_bits(s)));
    }

    /// Takes out the flows that have ended, adds those that have come, and weighs again those of
    /// which something else is left. Returns false, and does nothing, if these are many.
    fn follow(&mut self, demand: &Demand, members: Members<'_>) -> bool {
        let KeptLevels { bundles, water, active, others, .. } = self;
        let weight = |position: usize| {
            if demand.is_active(position) { members.weight(position) } else { 0.0 }
        };
        others.clear();
        let mut before = active.iter();
        for s in 0..demand.senders() {
            let start = demand.row(s).start;
            let words = demand.row_bits(s).iter().zip(&mut before);
            if let Members::ByLeft(_) = members {
                let either = bits(words.map(|(now, before)| now | before)).map(|k| start + k);
                let is_other = |&position: &usize| {
                    let was = bundles.weight(position as u32);
                    (weight(position) - was).abs() > SAME_LEFT * was
                };
                others.extend(either.filter(is_other).map(|position| position as u32));
            } else {
                let differ = bits(words.map(|(now, before)| now ^ before)).map(|k| start + k);
                others.extend(differ.map(|position| position as u32));
            }
        }
        if others.len() > FEW + demand.unfinished() as usize / 4 {
            return false;
        }
        water.clear_changes();
        water.hand_on(None);
        for &flow in others.iter() {
            if bundles.flows(flow) == 0 {
                continue;
            }
            water.leave(bundles, flow);
            bundles.take_away(flow);
        }
        for &flow in others.iter().filter(|&&flow| demand.is_active(flow as usize)) {
            let path = demand.whole_path(flow as usize);
            bundles.lay(flow, path.iter().copied(), weight(flow as usize));
            water.join(bundles, flow);
        }
        if !others.is_empty() {
            self.write_active(demand);
        }
        true
    }

    /// Writes down the levels that have changed, or all, if these are `new`; and what is left of
    /// what is `free`. Adds the links at which another amount is left to `dirty_after`.
    pub fn write(
        &mut self,
        new: bool,
        free: &[f64],
        levels: &mut Vec<f64>,
        after: &mut [f64],
        dirty_after: &mut MarkedLinks,
    ) {
        if new {
            self.tells_changes = false;
            levels.clear();
            levels.extend(self.water.levels().iter().map(|level| level.min(UNLIMITED)));
        } else {
            for &l in &self.water.changes().levels {
                levels[l as usize] = self.water.levels()[l as usize].min(UNLIMITED);
            }
        }
        if new {
            self.unseen.clear();
        }
        if new || self.water.is_dense() {
            return self.write_after(free, after, dirty_after);
        }
        for l in self.unseen.drain(..).map(|l| l as usize).chain(self.water.touched()) {
            let now = left(self.water.link(l), free[l], after[l]);
            if std::mem::replace(&mut after[l], now) != now {
                dirty_after.insert(l);
            }
        }
    }

    /// Writes down what is left of what is `free` at all links, in a form that compiles to vector
    /// instructions.
    fn write_after(&mut self, free: &[f64], after: &mut [f64], dirty_after: &mut MarkedLinks) {
        for (word, (after, free)) in after.chunks_mut(64).zip(free.chunks(64)).enumerate() {
            let links = self.water.links_in(64 * word..64 * word + free.len());
            let columns = after.iter_mut().zip(free).zip(links);
            let differ = bitmask(columns.map(|((after, free), link)| {
                let now = left(link, *free, *after);
                std::mem::replace(after, now) != now
            }));
            dirty_after.insert_run(64 * word, differ);
        }
    }
}

impl Members<'_> {
    /// What an active flow counts for.
    fn weight(&self, position: usize) -> f64 {
        match self {
            Members::ByLeft(left) => left[position].max(LEAST_LEFT),
            Members::All => 1.0,
        }
    }
}

/// What the flows leave of what is `free` at a link, where `after` was left before.
fn left(link: LinkUse, free: f64, after: f64) -> f64 {
    let (left, rounding) = (link.free - link.used, link.capacity * ROUNDING);
    // Less does not make the next coflow decide again.
    let now = if (left - after).abs() > rounding { left } else { after };
    // An unused link has all left and a full one nothing: what it carries is never less than
    // nothing.
    let now = if free - left < rounding { free } else { now };
    if left < rounding { 0.0 } else { now }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl KeptLevels {
        /// The rate of a flow for each unit that it counts for.
        fn rate(&self, position: usize) -> f64 {
            self.water.levels()[self.bundles.attached(position as u32) as usize]
        }
    }
    use covey_core::PortId;
    use covey_core::SplitMix;
    use covey_core::demand::Builder;
    use covey_core::{Ecmp, EcmpMode, FatTree};

    #[test]
    fn levels_that_are_kept_are_those_that_are_filled_from_nothing() {
        // A flow kept too much with the seeds 47 and 100, where a heavy newcomer lowers a level and
        // goes elsewhere.
        (0..30).chain([47, 100]).for_each(follow_random_changes);
    }

    fn follow_random_changes(seed: u64) {
        let mut random = SplitMix::new(seed);
        let mut below = move |n: u64| random.next_u64() % n;
        let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
        let fabric = FatTree::new(4, ecmp).unwrap().fabric(1.0, 1.0).unwrap();
        for round in 0..40 {
            let flows: Vec<(PortId, PortId)> =
                (0..60).map(|_| (PortId(below(16) as u32), PortId(below(16) as u32))).collect();
            let mut sizes: Vec<f64> =
                flows.iter().map(|_| 10_f64.powi(below(9) as i32) / 1e4).collect();
            let mut demand = Demand::default();
            let mut builder = Builder::default();
            demand.rebuild(&fabric, u64::from, flows.iter().copied(), &mut builder);
            (0..flows.len()).for_each(|position| demand.start(position));
            let links = demand.links().len();
            let mut free = vec![1.0; links];
            let capacity = || std::iter::repeat_n(1.0, links);
            let mut kept = KeptLevels::default();
            let (mut levels, mut after) = (Vec::new(), free.clone());
            let (mut dirty, mut dirty_after) = (MarkedLinks::default(), MarkedLinks::default());
            dirty.start(links);
            while demand.unfinished() > 0 {
                let members = if round % 2 == 0 { Members::All } else { Members::ByLeft(&sizes) };
                let before = after.clone();
                dirty_after.start(links);
                kept.start();
                let goes_on = kept.share(&demand, members, capacity(), &free, &dirty);
                kept.write(!goes_on, &free, &mut levels, &mut after, &mut dirty_after);
                for (l, (before, after)) in before.iter().zip(&after).enumerate() {
                    assert_eq!(before != after, dirty_after.contains(l), "link {l}");
                }
                let mut filled = KeptLevels::default();
                filled.share(&demand, members, capacity(), &free, &dirty);
                for position in demand.active() {
                    let weight = members.weight(position);
                    let rate = filled.rate(position) * weight;
                    let least = demand.path(position).map(|l| levels[l]).fold(UNLIMITED, f64::min);
                    let is_all = matches!(members, Members::All);
                    assert!(!is_all || (least - rate).abs() < 1e-9, "{least} {rate}");
                    assert!((kept.rate(position) * weight - rate).abs() < 1e-9);
                }
                for (l, (rest, after)) in filled.water.all_spare().zip(&after).enumerate() {
                    assert!((rest - after).abs() < 1e-9, "link {l}: {rest} {after}");
                    assert!((0.0..=free[l]).contains(after), "link {l}: {after} of {}", free[l]);
                }
                dirty.clear();
                for _ in 0..below(4) {
                    let l = below(links as u64) as usize;
                    free[l] = [0.0, 0.25, 0.3, 1.0][below(4) as usize];
                    dirty.insert(l);
                }
                if below(4) == 0 {
                    kept.miss(dirty.iter());
                    dirty.clear();
                }
                let active: Vec<usize> = demand.active().collect();
                for &position in &active {
                    if below(20) == 0 {
                        demand.finish(position);
                    } else if below(30) == 0 {
                        sizes[position] *= 0.3;
                    }
                }
            }
        }
    }

    #[test]
    fn as_time_passes_rates_by_size_stay() {
        let fabric = covey_core::Fabric::big_switch(3, 1.0).unwrap();
        let mut demand = Demand::default();
        let flows = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| (PortId(a), PortId(b)));
        demand.rebuild(&fabric, u64::from, flows.into_iter(), &mut Builder::default());
        (0..3).for_each(|position| demand.start(position));
        let links = demand.links().len();
        let (free, none) = (vec![1.0; links], MarkedLinks::default());
        let mut left = [6.0, 2.0, 1.0];
        let mut kept = KeptLevels::default();
        kept.share(&demand, Members::ByLeft(&left), free.iter().copied(), &free, &none);
        let levels = [0, 1, 2].map(|position| kept.rate(position));
        assert_eq!(levels, [0.125, 0.125, 0.75]);
        let seconds = 0.5;
        kept.elapse(0.125, seconds);
        for (left, level) in left.iter_mut().zip(levels) {
            *left *= 1.0 - ByLeft::sent(0.125, level, seconds);
        }
        let goes_on =
            kept.share(&demand, Members::ByLeft(&left), free.iter().copied(), &free, &none);
        assert!(goes_on);
        for position in 0..3 {
            let rate = kept.rate(position) * left[position];
            assert!((rate - [0.75, 0.25, 0.75][position]).abs() < 1e-12);
        }
    }
}
