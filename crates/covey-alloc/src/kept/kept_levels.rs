//! Max-min fair levels of one coflow, kept from pass to pass.
//!
//! To keep them costs about as much at first as to fill all links some times. So they are kept once a coflow has
//! been filled so often.

use crate::rules::max_min::UNLIMITED;
use crate::water::bundles::Bundles;
use crate::water::water_levels::{MAX_DENSE_LINKS, WaterLevels};
use covey_core::Demand;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::sets::simd::bitmask;

/// Differences below this part of a link's capacity are rounding.
const ROUNDING: f64 = 4e-12;

/// If another amount may be free at more than one of so many links, all are looked at.
const LINKS_PER_UNSEEN: usize = 8;

/// Levels of one coflow. Each flow is a bundle of its own, whose number is its position.
#[derive(Debug, Default)]
pub struct KeptLevels {
    bundles: Bundles,
    levels: WaterLevels,
    /// Links at which another amount may be free than the levels know; some occur twice.
    unseen: Vec<u32>,
    /// Whether there may be others.
    all_unseen: bool,
}

impl KeptLevels {
    /// Begins again, with the active flows of a coflow on links that have a `capacity`, of which some is `free`, by local link.
    pub fn fill(
        &mut self,
        demand: &Demand,
        capacity: impl ExactSizeIterator<Item = f64> + Clone,
        free: &[f64],
    ) {
        let KeptLevels { bundles, levels, unseen, all_unseen } = self;
        unseen.clear();
        *all_unseen = false;
        let links = demand.links().len();
        let is_dense = links <= MAX_DENSE_LINKS && demand.unfinished() as usize >= links;
        levels.clear(capacity, is_dense);
        bundles.make_room(demand.width());
        for position in demand.active() {
            bundles.lay(position as u32, demand.path(position).map(|l| l as u32));
            levels.enter(bundles, position as u32);
        }
        levels.set_all_free(free);
        levels.note_touched();
        levels.fill(bundles);
    }

    /// Another amount may be free at some links, of which [`KeptLevels::follow`] is not told.
    pub fn miss(&mut self, links: impl Iterator<Item = usize>) {
        let most = self.levels.levels().len() / LINKS_PER_UNSEEN;
        let room = (most + 1).saturating_sub(self.unseen.len());
        self.unseen.extend(links.take(room).map(|l| l as u32));
        self.all_unseen |= self.unseen.len() > most;
    }

    /// Brings the levels up to date. Some flows have ended, and other amounts are `free`: if there are many links, at
    /// the `dirty` ones only, and those that were missed.
    pub fn follow(&mut self, ended: impl Iterator<Item = u32>, free: &[f64], dirty: &MarkedLinks) {
        self.levels.clear_changes();
        self.levels.hand_on(None);
        for position in ended {
            self.levels.leave(&mut self.bundles, position);
            self.bundles.take_away(position);
        }
        if !self.levels.is_dense() {
            self.miss(dirty.iter());
        }
        if std::mem::take(&mut self.all_unseen) || self.levels.is_dense() {
            self.unseen.clear();
            self.levels.set_all_free(free);
        } else {
            self.unseen.iter().for_each(|&l| self.levels.set_free(l as usize, free[l as usize]));
            debug_assert!(self.levels.knows(free));
        }
        self.levels.balance(&mut self.bundles);
    }

    /// Writes down all levels, and what is left of what is `free`. Adds the links at which another amount is left to
    /// `dirty_after`.
    pub fn write_all(
        &mut self,
        free: &[f64],
        levels: &mut [f64],
        after: &mut [f64],
        dirty_after: &mut MarkedLinks,
    ) {
        for (level, now) in levels.iter_mut().zip(self.levels.levels()) {
            *level = limited(*now);
        }
        self.write_after(free, after, dirty_after);
    }

    /// Writes down the same after [`KeptLevels::follow`].
    pub fn write(
        &mut self,
        free: &[f64],
        levels: &mut [f64],
        after: &mut [f64],
        dirty_after: &mut MarkedLinks,
    ) {
        for &l in &self.levels.changes().levels {
            levels[l as usize] = limited(self.levels.levels()[l as usize]);
        }
        if self.levels.is_dense() {
            return self.write_after(free, after, dirty_after);
        }
        let unseen = self.unseen.drain(..).map(|l| l as usize);
        for l in unseen.chain(self.levels.touched()) {
            let now = left(self.levels.link(l), free[l], after[l]);
            if std::mem::replace(&mut after[l], now) != now {
                dirty_after.insert(l);
            }
        }
    }

    /// Writes down what is left of what is `free` at all links, in a form that compiles to vector instructions.
    fn write_after(&mut self, free: &[f64], after: &mut [f64], dirty_after: &mut MarkedLinks) {
        for (word, (after, free)) in after.chunks_mut(64).zip(free.chunks(64)).enumerate() {
            let links = self.levels.links_in(64 * word..64 * word + free.len());
            let columns = after.iter_mut().zip(free).zip(links);
            let differ = bitmask(columns.map(|((after, free), link)| {
                let now = left(link, *free, *after);
                std::mem::replace(after, now) != now
            }));
            dirty_after.insert_run(64 * word, differ);
        }
    }

    /// The link that limits the flow at a position.
    pub fn limit(&self, position: usize) -> u32 {
        self.bundles.attached(position as u32)
    }

    /// Links with other levels than before [`KeptLevels::follow`], some of them twice.
    pub fn changed(&self) -> &[u32] {
        &self.levels.changes().levels
    }

    /// Positions of flows that another link limits than before [`KeptLevels::follow`], some of them twice. Some may
    /// have ended.
    pub fn moved(&self) -> &[u32] {
        &self.levels.changes().bundles
    }
}

/// What is left of what is `free` at a link, of which this is known: what it carries at most, what is free for the
/// flows, and what they use. Before, `after` was left.
fn left((capacity, for_all, used): (f64, f64, f64), free: f64, after: f64) -> f64 {
    let (left, rounding) = (for_all - used, capacity * ROUNDING);
    // Less does not make the next coflow decide again.
    let now = if (left - after).abs() > rounding { left } else { after };
    // An unused link has all left and a full one nothing: what it carries is never less than nothing.
    let now = if free - left < rounding { free } else { now };
    if left < rounding { 0.0 } else { now }
}

/// A level as the allocator writes it.
fn limited(level: f64) -> f64 {
    if level < f64::INFINITY { level } else { UNLIMITED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::filling_on_paths::{PathFilling, Served};
    use covey_core::PortId;
    use covey_core::SplitMix;
    use covey_core::demand::Builder;
    use covey_core::{Ecmp, EcmpMode, FatTree};

    #[test]
    fn levels_that_are_kept_are_those_that_are_filled_from_nothing() {
        let mut random = SplitMix::new(3);
        let mut below = move |n: u64| random.next_u64() % n;
        let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
        let fabric = FatTree::new(4, ecmp).unwrap().fabric(1.0, 1.0).unwrap();
        for _ in 0..40 {
            let flows: Vec<(PortId, PortId)> =
                (0..60).map(|_| (PortId(below(16) as u32), PortId(below(16) as u32))).collect();
            let mut demand = Demand::default();
            let mut builder = Builder::default();
            demand.rebuild(&fabric, u64::from, flows.iter().copied(), &mut builder);
            (0..flows.len()).for_each(|position| demand.start(position));
            let links = demand.links().len();
            let mut free = vec![1.0; links];
            let mut kept = KeptLevels::default();
            kept.fill(&demand, std::iter::repeat_n(1.0, links), &free);
            let (mut levels, mut after) = (vec![UNLIMITED; links], free.clone());
            let mut dirty_after = MarkedLinks::default();
            dirty_after.start(links);
            kept.write_all(&free, &mut levels, &mut after, &mut dirty_after);
            while demand.unfinished() > 0 {
                let mut filling = PathFilling::default();
                let mut rates = vec![0.0; flows.len()];
                filling.fill(&demand, Served::All, |_| 1.0, &free, |p, _, rate| rates[p] = rate);
                for position in demand.active() {
                    let least = demand.path(position).map(|l| levels[l]).fold(UNLIMITED, f64::min);
                    assert!((least - rates[position]).abs() < 1e-9, "{least} {}", rates[position]);
                    let limit = levels[kept.limit(position) as usize];
                    assert!((limit - least).abs() < 1e-12, "{limit} {least}");
                }
                for (l, (rest, after)) in filling.rest().zip(&after).enumerate() {
                    assert!((rest - after).abs() < 1e-9, "link {l}: {rest} {after}");
                    assert!((0.0..=free[l]).contains(after), "link {l}: {after} of {}", free[l]);
                }
                let mut dirty = MarkedLinks::default();
                dirty.start(links);
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
                let ended: Vec<usize> = active.into_iter().filter(|_| below(20) == 0).collect();
                ended.iter().for_each(|&position| demand.finish(position));
                kept.follow(ended.iter().map(|&position| position as u32), &free, &dirty);
                let before = after.clone();
                dirty_after.clear();
                kept.write(&free, &mut levels, &mut after, &mut dirty_after);
                for (l, (before, after)) in before.iter().zip(&after).enumerate() {
                    assert_eq!(before != after, dirty_after.contains(l), "link {l}");
                }
            }
        }
    }
}
