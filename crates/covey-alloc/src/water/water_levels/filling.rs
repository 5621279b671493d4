//! All levels from nothing.

use std::ops::Deref;

use super::WaterLevels;
use crate::water::bundles::Bundles;
use crate::water::filling::Flows;
use covey_core::sets::bits::has_bit;

impl WaterLevels {
    /// Works out all levels from nothing, by progressive filling.
    pub fn fill(&mut self, bundles: &mut Bundles) {
        for bundle in self.attached.iter_mut().flat_map(|list| list.drain(..)) {
            bundles.release(bundle);
        }
        self.before.level.clone_from(&self.links.level);
        self.before.used.clone_from(&self.links.used);
        self.links.level.fill(f64::INFINITY);
        self.links.others.fill(f64::INFINITY);
        self.links.used.fill(0.0);
        self.links.own.fill(0.0);
        let links = self.count_links();
        self.rows.clear(links);
        self.fill_links(bundles);
        for link in 0..links {
            let level = self.links.level[link];
            if level != self.before.level[link] {
                self.set_level(link, level);
            }
            if self.links.used[link] != self.before.used[link] {
                self.touch(link);
            }
        }
        self.changes.bundles.extend(self.attached.iter().flatten());
        self.queue.clear(links);
        self.rounds = 0;
    }

    /// Attaches all bundles, none of which is attached, to the links that are full first if all
    /// rates rise evenly.
    fn fill_links(&mut self, bundles: &mut Bundles) {
        let WaterLevels { links, attached, crossing, rows, filling, limited, .. } = self;
        if bundles.have_weights() {
            let weights = |list: &Vec<u32>| list.iter().map(|&it| bundles.weight(it)).sum();
            links.count.iter_mut().zip(&*crossing).for_each(|(all, list)| *all = weights(list));
        }
        let crossing = &crossing[..links.count.len()];
        filling.start(bundles.all_attached().len(), links.free.iter().copied());
        let flows = Crossing { bundles, crossing };
        for (link, list) in crossing.iter().enumerate() {
            let begin_here = list.iter().filter(|&&it| bundles.path(it)[0] as usize == link);
            begin_here.for_each(|&it| filling.open(&flows, it as usize));
        }
        limited.clear();
        filling.fill(&flows, |bundle, link, level| {
            links.level[link] = level;
            limited.push((bundle as u32, link as u32));
        });
        for (bundle, link) in limited.drain(..) {
            bundles.attach(bundle, link, &mut attached[link as usize]);
            let (path, weight) = (bundles.path(bundle), bundles.weight(bundle));
            let rate = weight * links.level[link as usize];
            path.iter().for_each(|&l| links.used[l as usize] += rate);
            links.own[link as usize] += weight;
            rows.attach(link as usize, path, weight);
        }
    }
}

/// Bundles, and those that cross each link.
struct Crossing<'a> {
    bundles: &'a Bundles,
    crossing: &'a [Vec<u32>],
}

impl Flows for Crossing<'_> {
    fn path(&self, bundle: usize) -> impl Deref<Target = [u32]> {
        self.bundles.path(bundle as u32)
    }

    fn weight(&self, bundle: usize) -> f64 {
        self.bundles.weight(bundle as u32)
    }

    fn has_exact_sums(&self) -> bool {
        !self.bundles.have_weights()
    }

    fn each_at(&self, link: usize, set: &mut [u64], mut visit: impl FnMut(&mut [u64], usize)) {
        for &bundle in &self.crossing[link] {
            if has_bit(set, bundle as usize) {
                visit(set, bundle as usize);
            }
        }
    }
}
