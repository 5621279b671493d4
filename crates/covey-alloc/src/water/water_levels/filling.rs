//! All levels from nothing: all rates rise evenly, and the links that are full first limit their flows.

use std::cmp::Reverse;

use covey_core::Ordered;

use super::{Filling, WaterLevels};
use crate::water::bundles::{Bundles, NONE};
use crate::water::links::Links;

/// Where subtractions leave less than this of what was there, weights are added up again.
const CANCELLED: f64 = 1e-3;

impl WaterLevels {
    /// Works out all levels from nothing, by progressive filling.
    pub fn fill(&mut self, bundles: &mut Bundles) {
        for bundle in self.attached.iter_mut().flat_map(|list| list.drain(..)) {
            bundles.release(bundle);
        }
        let mut filling = std::mem::take(&mut self.filling);
        filling.level.clone_from(&self.links.level);
        filling.used.clone_from(&self.links.used);
        self.links.level.fill(f64::INFINITY);
        self.links.others.fill(f64::INFINITY);
        self.links.used.fill(0.0);
        self.links.own.fill(0.0);
        let links = self.count_links();
        self.rows.clear(links);
        self.fill_links(bundles, &mut filling);
        for link in 0..links {
            let level = self.links.level[link];
            if level != filling.level[link] {
                self.set_level(link, level);
            }
            if self.links.used[link] != filling.used[link] {
                self.touch(link);
            }
        }
        self.filling = filling;
        self.changes.bundles.extend(self.attached.iter().flatten());
        self.queue.clear(links);
        self.rounds = 0;
    }

    /// Attaches all bundles, none of which is attached, to the links that are full first if all rates rise evenly.
    fn fill_links(&mut self, bundles: &mut Bundles, filling: &mut Filling) {
        let WaterLevels { links, attached, crossing, rows, .. } = self;
        let Filling { open, all, bundles: opened, full, .. } = filling;
        let level_of = |links: &Links, link: usize, open: f64| {
            Ordered(((links.free[link] - links.used[link]) / open).max(0.0))
        };
        opened.clear();
        opened.extend(crossing[..links.count.len()].iter().map(|list| list.len() as u32));
        if bundles.have_weights() {
            let weights = |list: &Vec<u32>| list.iter().map(|&it| bundles.weight(it)).sum();
            links.count.iter_mut().zip(&*crossing).for_each(|(all, list)| *all = weights(list));
        }
        open.clone_from(&links.count);
        all.clone_from(&links.count);
        full.clear();
        let with_flows = (0..opened.len()).filter(|&link| opened[link] > 0);
        full.extend(
            with_flows.map(|link| Reverse((level_of(links, link, open[link]), link as u32))),
        );
        while let Some(Reverse((before, number))) = full.pop() {
            let link = number as usize;
            if opened[link] == 0 {
                continue;
            }
            if open[link] < all[link] * CANCELLED {
                let still = crossing[link].iter().filter(|&&it| bundles.attached(it) == NONE);
                open[link] = still.map(|&it| bundles.weight(it)).sum();
                all[link] = open[link];
            }
            // The level at which a link is full only rises while others fill.
            let level = level_of(links, link, open[link]);
            if level > before {
                full.push(Reverse((level, number)));
                continue;
            }
            links.level[link] = level.0;
            for &bundle in &crossing[link] {
                if bundles.attached(bundle) != NONE {
                    continue;
                }
                bundles.attach(bundle, number, &mut attached[link]);
                let (path, weight) = (bundles.path(bundle), bundles.weight(bundle));
                for l in path.iter().map(|&l| l as usize) {
                    links.used[l] += weight * level.0;
                    open[l] -= weight;
                    opened[l] -= 1;
                }
                links.own[link] += weight;
                rows.attach(link, path, weight);
            }
        }
    }
}
