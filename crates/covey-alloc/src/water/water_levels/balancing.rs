//! One link gets the level at which its use is right.

use covey_core::sets::bits::has_bit;

use super::WaterLevels;
use crate::water::bundles::Bundles;
use crate::water::dense_rows::Bounds;
use crate::water::links::{Links, precedence};
use crate::water::rows::Form;

impl WaterLevels {
    /// Adds up what the flows attached to a link count for: differences of weights of any size are
    /// not exact.
    pub(super) fn weigh_own(&mut self, bundles: &Bundles, link: usize) {
        if bundles.have_weights() {
            self.links.own[link] = self.attached[link].iter().map(|&it| bundles.weight(it)).sum();
        }
    }

    pub(super) fn balance_link(&mut self, bundles: &mut Bundles, link: usize) {
        self.weigh_own(bundles, link);
        let Links { level, free, used, own, .. } = &self.links;
        let (level, free, own) = (level[link], free[link], own[link]);
        let others = if own > 0.0 { used[link] - own * level } else { used[link] };
        if own > 0.0 {
            let raised = (free - others) / own;
            if raised >= level {
                return self.raise(bundles, link, raised, others);
            }
        } else if !self.links.is_over(link) {
            return self.set_level(link, f64::INFINITY);
        }
        self.lower(bundles, link, others);
    }

    /// Raises a link's level to about `raised`, where other links limit flows that use `others`.
    /// Bundles for which another link is lower then are attached to that one.
    fn raise(&mut self, bundles: &mut Bundles, link: usize, mut raised: f64, mut others: f64) {
        let (level, free) = (self.links.level[link], self.links.free[link]);
        // Its own level does not count while others are sought that are lower.
        self.links.level[link] = f64::INFINITY;
        loop {
            if !self.rows.crosses_lower(link, raised, &self.links) {
                break;
            }
            let mut some_move = false;
            for k in (0..self.attached[link].len()).rev() {
                let bundle = self.attached[link][k];
                let (path, levels) = (bundles.path(bundle), &self.links.level);
                if path.iter().fold(false, |any, &l| any | (levels[l as usize] < raised)) {
                    let other = self.lowest_link(path);
                    let to = levels[other as usize];
                    others += bundles.weight(bundle) * to;
                    self.move_to(bundles, bundle, other, level, to);
                    some_move = true;
                }
            }
            self.weigh_own(bundles, link);
            let own = self.links.own[link];
            if own <= 0.0 {
                self.links.used[link] = others;
                self.set_level(link, f64::INFINITY);
                return self.look_at(link);
            }
            if !some_move {
                break;
            }
            raised = (free - others) / own;
        }
        self.raise_own(link, level, raised);
        self.links.used[link] = others + self.links.own[link] * raised;
        self.set_level(link, raised);
        // A newcomer may have lowered the level below that of other flows that cross the link, and
        // have left since.
        if self.rows.form == Form::Paths && self.links.others[link] > raised {
            self.lower(bundles, link, others);
        }
    }

    /// Lowers a link's level to where its use is right. Bundles that had more by other links, which
    /// use `others` in all, are attached to this one.
    fn lower(&mut self, bundles: &mut Bundles, link: usize, others: f64) {
        let (level, free, own) =
            (self.links.level[link], self.links.free[link], self.links.own[link]);
        // At least that: if only the flows attached here had less, or all flows that cross the link
        // had the same.
        let alone = if own > 0.0 { (free - others) / own } else { 0.0 };
        let mut lowered = alone.max(free / self.links.count[link]);
        let mut highest = self.find_higher(bundles, link, lowered);
        // All of them count at first, so the level is too low, and only rises.
        let mut moving = std::mem::take(&mut self.moving);
        let (mut weight, mut rest);
        loop {
            (weight, rest) = (own, others);
            for &(bundle, at) in &moving {
                weight += bundles.weight(bundle);
                rest -= bundles.weight(bundle) * at;
            }
            lowered = ((free - rest) / weight).max(0.0);
            let before = moving.len();
            moving.retain(|&(_, at)| {
                highest = if at > lowered { highest } else { highest.max(at) };
                at > lowered
            });
            if moving.len() == before || weight <= 0.0 {
                break;
            }
        }
        if weight <= 0.0 {
            // Rounding: what other links give is right.
            self.links.used[link] = self.links.free[link];
            self.moving = moving;
            return self.set_level(link, f64::INFINITY);
        }
        if own > 0.0 {
            self.raise_own(link, level, lowered);
        }
        self.set_level(link, lowered);
        self.links.others[link] = highest;
        for &(bundle, at) in &moving {
            self.move_to(bundles, bundle, link as u32, at, lowered);
        }
        self.moving = moving;
        self.links.used[link] = rest + weight * lowered;
    }

    /// Makes `moving` the bundles that cross a link and have a rate above `level` by another one.
    /// Returns a bound of the rates of the others.
    fn find_higher(&mut self, bundles: &Bundles, link: usize, level: f64) -> f64 {
        let WaterLevels { links, crossing, rows, moving, .. } = self;
        moving.clear();
        let others = crossing[link].iter().map(|&bundle| (bundle, bundles.attached(bundle)));
        let others = others.filter(|&(_, attached)| attached as usize != link);
        let others = others.map(|(bundle, attached)| (bundle, links.level[attached as usize]));
        let none = match rows.form {
            Form::Dense => !rows.dense.is_crossed_from_higher(link, level, &links.level),
            Form::Paths | Form::None => links.others[link] <= level,
        };
        if none {
            debug_assert!(others.clone().all(|(_, at)| at <= level), "one is higher");
            return links.others[link];
        }
        let mut highest = 0.0_f64;
        for (bundle, at) in others {
            if at > level {
                moving.push((bundle, at));
            } else {
                highest = highest.max(at);
            }
        }
        highest
    }

    /// The flows attached to a link, whose level was `from`, get the level `to`.
    pub(super) fn raise_own(&mut self, link: usize, from: f64, to: f64) {
        let by = to - from;
        let WaterLevels { links, queue, touched, notes_touched, rows, .. } = self;
        let Links { level, free, used, full, ceiling, own, count, others, .. } = links;
        match rows.form {
            Form::None => return,
            Form::Paths => {}
            Form::Dense => {
                return rows.dense.raise(
                    link,
                    by,
                    used,
                    Bounds { full, ceiling },
                    |word, off, used| {
                        queue.push_all(word, off, |l| {
                            precedence(level[l], free[l], used[l], own[l], count[l])
                        });
                    },
                );
            }
        }
        // As slices, which stay where they are while one of them is written.
        let (used, others) = (&mut used[..], &mut others[..]);
        let (full, ceiling) = (&full[..], &ceiling[..]);
        for (weight, path) in rows.paths.row(link) {
            let more = weight * by;
            for l in path.iter().map(|&l| l as usize) {
                used[l] += more;
                if *notes_touched {
                    touched.insert(l);
                }
                if has_bit(full, l) || (by > 0.0 && used[l] > ceiling[l]) {
                    others[l] = others[l].max(to);
                    queue.push(l, || precedence(level[l], free[l], used[l], own[l], count[l]));
                }
            }
        }
    }
}
