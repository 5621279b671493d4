//! Max-min fair levels of one coflow whose paths cross inner links, kept from pass to pass.
//!
//! To keep them costs about as much at first as to fill all links some times. So they are kept once a coflow has
//! been filled so often.

use crate::alloc::rules::progressive_filling::UNLIMITED;
use crate::alloc::water::bundles::Bundles;
use crate::alloc::water::water_levels::{MAX_DENSE_LINKS, WaterLevels};
use crate::demand::Demand;

/// Differences below this part of a link's capacity are rounding.
const ROUNDING: f64 = 4e-12;

/// Levels of one coflow. Each flow is a bundle of its own, whose number is its position.
#[derive(Debug)]
pub struct KeptLevels {
    bundles: Bundles,
    levels: WaterLevels,
}

impl KeptLevels {
    /// The active flows of a coflow on links that have a `capacity`, of which some is `free`, by local link.
    pub fn new(
        demand: &Demand,
        capacity: impl ExactSizeIterator<Item = f64> + Clone,
        free: &[f64],
    ) -> KeptLevels {
        let (mut bundles, mut levels) = (Bundles::default(), WaterLevels::default());
        let links = demand.links().len();
        let is_dense = links <= MAX_DENSE_LINKS && demand.unfinished() as usize >= links;
        levels.clear(capacity, is_dense);
        bundles.make_room(demand.width());
        for position in demand.active() {
            bundles.lay(position as u32, demand.path(position).map(|l| l as u32));
            levels.join(&mut bundles, position as u32);
        }
        free.iter().enumerate().for_each(|(l, free)| levels.set_free(l, *free));
        levels.fill(&mut bundles);
        KeptLevels { bundles, levels }
    }

    /// Brings the levels up to date. Some flows have ended, and other amounts are `free`.
    pub fn follow(&mut self, ended: impl Iterator<Item = u32>, free: &[f64]) {
        self.levels.clear_changes();
        self.levels.hand_on(None);
        for position in ended {
            self.levels.leave(&mut self.bundles, position);
            self.bundles.take_away(position);
        }
        free.iter().enumerate().for_each(|(l, free)| self.levels.set_free(l, *free));
        self.levels.balance(&mut self.bundles);
    }

    /// Writes down the levels that have changed, and what is left behind the coflow. All levels have changed in
    /// new ones.
    pub fn write(
        &self,
        capacity: impl Iterator<Item = f64>,
        levels: &mut [f64],
        after: &mut [f64],
    ) {
        for &l in &self.levels.changes().levels {
            let level = self.levels.levels()[l as usize];
            levels[l as usize] = if level < f64::INFINITY { level } else { UNLIMITED };
        }
        for ((l, after), capacity) in after.iter_mut().enumerate().zip(capacity) {
            let now = self.levels.spare(l);
            let now = if now < capacity * ROUNDING { 0.0 } else { now };
            // What differs by rounding only does not make the next coflow decide again.
            if (now - *after).abs() > capacity * ROUNDING || now == 0.0 {
                *after = now;
            }
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
