//! Links divided in proportion to weights.
//!
//! A link's level is its capacity over the weights of all flows that cross it. A flow gets its weight times the lowest
//! level on its path; what others cannot use is left idle. So a level depends on nothing but the flows at its link.

use super::bundles::{Bundles, NONE};
use super::water_levels::WaterLevels;
use crate::alloc::exact_sum::ExactSum;

/// What is known of links that are divided in proportion.
#[derive(Debug, Default)]
pub struct Divided {
    /// By link, the weights of the flows that cross it.
    pub weights: Vec<ExactSum>,
    /// Working memory: links with other flows than before, and their levels then.
    changed: Vec<(u32, f64)>,
}

impl WaterLevels {
    /// Divides links in proportion from now on. There are no flows.
    pub fn divide_in_proportion(&mut self) {
        let mut weights = Vec::new();
        weights.resize_with(self.attached.len(), ExactSum::default);
        self.divided = Some(Divided { weights, changed: Vec::new() });
    }

    /// Works out the levels of links that have other flows than before, and attaches bundles to the lowest.
    pub(super) fn divide(&mut self, bundles: &mut Bundles) {
        let Some(mut divided) = self.divided.take() else { return };
        let mut touched = std::mem::take(&mut self.used);
        touched.sort_unstable();
        touched.dedup();
        divided.changed.clear();
        for link in touched.drain(..).map(|link| link as usize) {
            let level = match self.crossing[link].is_empty() {
                true => f64::INFINITY,
                false => self.links.free[link] / divided.weights[link].value(),
            };
            divided.changed.push((link as u32, self.links.level[link]));
            self.set_level(link, level);
        }
        self.used = touched;
        for &(link, before) in &divided.changed {
            self.attach_again(bundles, link as usize, before);
        }
        self.divided = Some(divided);
    }

    /// Attaches bundles to their lowest links after the level of a link has changed.
    fn attach_again(&mut self, bundles: &mut Bundles, link: usize, before: f64) {
        let level = self.links.level[link];
        let mut moving: Vec<u32> = Vec::new();
        if level > before {
            moving.extend_from_slice(&self.attached[link]);
        } else {
            let levels = &self.links.level;
            let from_higher =
                self.crossing[link].iter().filter(|it| levels[it.attached as usize] > level);
            moving.extend(from_higher.map(|it| it.bundle));
        }
        for bundle in moving {
            let lowest = self.lowest_link(bundles.path(bundle), NONE);
            if lowest != bundles.attached(bundle) {
                self.move_to(bundles, bundle, lowest, (level, level));
            }
        }
    }
}
