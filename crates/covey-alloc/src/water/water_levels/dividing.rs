//! Links that are divided in proportion to what flows count for, instead of fairly: a link's level
//! is what is free of it over what all flows there count for.

use super::WaterLevels;
use crate::water::bundles::Bundles;
use crate::water::divided::Divided;
use crate::water::rows::Form;

impl WaterLevels {
    /// Divides links in proportion from now on. There are no flows.
    pub fn divide_in_proportion(&mut self) {
        self.note_touched();
        self.divided = Some(Divided::new(self.count_links()));
        self.rows.form = Form::None;
    }

    /// Works out the levels of links that have other flows than before, and attaches bundles to the
    /// lowest.
    pub(super) fn divide(&mut self, bundles: &mut Bundles) {
        let Some(mut divided) = self.divided.take() else { return };
        let Divided { weights, changed } = &mut divided;
        changed.clear();
        changed.extend(self.touched.iter().map(|link| (link as u32, self.links.level[link])));
        self.touched.clear();
        for link in changed.iter().map(|&(link, _)| link as usize) {
            let level = match self.crossing[link].is_empty() {
                true => f64::INFINITY,
                false => self.links.free[link] / weights[link].value(),
            };
            self.set_level(link, level);
        }
        for &(link, before) in &divided.changed {
            self.attach_again(bundles, link as usize, before);
        }
        self.divided = Some(divided);
    }

    /// Attaches bundles to their lowest links after the level of a link has changed.
    fn attach_again(&mut self, bundles: &mut Bundles, link: usize, before: f64) {
        let level = self.links.level[link];
        let mut moving = std::mem::take(&mut self.moving);
        moving.clear();
        if level > before {
            moving.extend(self.attached[link].iter().map(|&bundle| (bundle, before)));
        } else {
            let levels = &self.links.level;
            let all =
                self.crossing[link].iter().map(|&it| (it, levels[bundles.attached(it) as usize]));
            moving.extend(all.filter(|&(_, at)| at > level));
        }
        for &(bundle, _) in &moving {
            let lowest = self.lowest_link(bundles.path(bundle));
            if lowest != bundles.attached(bundle) {
                self.move_to(bundles, bundle, lowest, level, level);
            }
        }
        self.moving = moving;
    }
}
