//! What one class gets and uses at each link.

use std::ops::Range;

use covey_core::sets::bits::{has_bit, set_bit};
use covey_core::sets::simd::bitmask;

/// The part of a link's capacity by which what is used may miss what is free: less is rounding.
const TOLERANCE: f64 = 1e-12;

/// What less than this part of a link's capacity is free counts as nothing: a class that is starved
/// gets exactly 0.
const NOTHING: f64 = 1e-9;

/// Numbers of one class by link. All are in bytes per second, but `own` and `count`, which are
/// numbers of flows.
#[derive(Debug, Default)]
pub struct Links {
    /// Water level: the rate of the flows that the link limits; infinite if the link is not full.
    pub level: Vec<f64>,
    /// What the classes before leave.
    pub free: Vec<f64>,
    /// What the class's flows use.
    pub used: Vec<f64>,
    /// Links that are full, a bit each. Their level is wrong once another amount is used of them.
    pub full: Vec<u64>,
    /// The bound of `used` at which the level of a link that is not full is right; infinite for a
    /// full one.
    pub ceiling: Vec<f64>,
    /// Flows that are attached to the link.
    pub own: Vec<f64>,
    /// Flows that cross the link.
    pub count: Vec<f64>,
    /// What the link carries at most.
    pub capacity: Vec<f64>,
    /// Where there are no tables, a bound of the levels of bundles that cross a full link and are
    /// attached to another one; infinite if the link is not full.
    pub others: Vec<f64>,
}

impl Links {
    /// No flows on links of these capacities.
    pub fn clear(&mut self, capacity: impl ExactSizeIterator<Item = f64> + Clone) {
        let links = capacity.len();
        for (numbers, number) in [
            (&mut self.level, f64::INFINITY),
            (&mut self.used, 0.0),
            (&mut self.own, 0.0),
            (&mut self.count, 0.0),
            (&mut self.others, f64::INFINITY),
        ] {
            numbers.clear();
            numbers.resize(links, number);
        }
        for (numbers, part) in
            [(&mut self.free, 1.0), (&mut self.ceiling, 1.0 + TOLERANCE), (&mut self.capacity, 1.0)]
        {
            numbers.clear();
            numbers.extend(capacity.clone().map(|capacity| capacity * part));
        }
        self.full.clear();
        self.full.resize(links.div_ceil(64), 0);
    }

    /// Sets a level.
    pub fn set_level(&mut self, link: usize, level: f64) {
        self.level[link] = level;
        let is_full = level < f64::INFINITY;
        set_bit(&mut self.full, link, is_full);
        self.set_ceiling(link);
        if !is_full {
            self.others[link] = f64::INFINITY;
        }
    }

    /// A bundle that crosses a link and is attached to another one has a level now.
    pub fn note_other(&mut self, link: usize, level: f64) {
        self.others[link] = self.others[link].max(level);
    }

    /// Sets what is free for the class. Returns whether it is another amount than before.
    pub fn set_free(&mut self, link: usize, free: f64) -> bool {
        let is_new = !self.is_free(link, free);
        if is_new {
            self.free[link] = if free < NOTHING * self.capacity[link] { 0.0 } else { free };
            self.set_ceiling(link);
        }
        is_new
    }

    /// Whether so much is free for the class, but for rounding.
    pub fn is_free(&self, link: usize, free: f64) -> bool {
        let free = if free < NOTHING * self.capacity[link] { 0.0 } else { free };
        (self.free[link] - free).abs() <= TOLERANCE * self.capacity[link]
    }

    /// Sets what is free of every link. Calls `off` with each link whose level does not fit what is
    /// free now. Returns whether another amount is free than before.
    ///
    /// Where as much is free as before at 64 links, these are passed over: when another amount is
    /// used of a link, it is looked at then.
    pub fn set_all_free(&mut self, free: &[f64], mut off: impl FnMut(&Links, usize, u64)) -> bool {
        let mut any_new = false;
        for word in 0..free.len().div_ceil(64) {
            let here = 64 * word..free.len().min(64 * word + 64);
            let both = self.free[here.clone()].iter().zip(&free[here.clone()]);
            if !both.fold(false, |any, (was, is)| any | (was != is)) {
                continue;
            }
            let outside = self.set_some_free(here.clone(), &free[here], &mut any_new);
            off(self, word, outside);
        }
        any_new
    }

    /// The same for up to 64 links, in a form that compiles to vector instructions. Returns the
    /// bits of those that are off.
    fn set_some_free(&mut self, links: Range<usize>, free: &[f64], any_new: &mut bool) -> u64 {
        let columns = self.free[links.clone()].iter_mut().zip(&mut self.ceiling[links.clone()]);
        let columns = columns.zip(free.iter().zip(&self.capacity[links.clone()]));
        let columns = columns.zip(&self.level[links.clone()]);
        let mut is_any_new = false;
        for (((was, ceiling), (free, capacity)), level) in columns {
            let tolerance = TOLERANCE * capacity;
            let free = if *free < NOTHING * capacity { 0.0 } else { *free };
            let is_new = (*was - free).abs() > tolerance;
            is_any_new |= is_new;
            *was = if is_new { free } else { *was };
            *ceiling = if *level < f64::INFINITY { f64::INFINITY } else { *was + tolerance };
        }
        *any_new |= is_any_new;
        let columns = self.used[links.clone()].iter().zip(&self.ceiling[links.clone()]);
        let columns = columns.zip(self.free[links.clone()].iter().zip(&self.capacity[links]));
        bitmask(columns.map(|((used, ceiling), (free, capacity))| {
            let is_full = *ceiling == f64::INFINITY;
            (used > ceiling) | (is_full & ((used - free).abs() > TOLERANCE * capacity))
        }))
    }

    fn set_ceiling(&mut self, link: usize) {
        let is_full = self.level[link] < f64::INFINITY;
        let ceiling = self.free[link] + TOLERANCE * self.capacity[link];
        self.ceiling[link] = if is_full { f64::INFINITY } else { ceiling };
    }

    /// Whether the level may be wrong after another amount is used of a link. It reads less
    /// than [`Links::is_off`].
    pub fn may_be_off(&self, link: usize) -> bool {
        has_bit(&self.full, link) || self.used[link] > self.ceiling[link]
    }

    /// Whether the level is wrong.
    pub fn is_off(&self, link: usize) -> bool {
        let short = self.free[link] - self.used[link];
        let is_full = self.level[link] < f64::INFINITY;
        self.is_over(link) || (is_full && short > TOLERANCE * self.capacity[link])
    }

    /// Whether more is used than is free.
    pub fn is_over(&self, link: usize) -> bool {
        self.used[link] - self.free[link] > TOLERANCE * self.capacity[link]
    }

    /// Links that are off are looked at in this order, lowest first: the level that the link has,
    /// or that it will have at least if it is used for more than is free.
    pub fn precedence(&self, link: usize) -> f64 {
        let Links { level, free, own, count, .. } = self;
        precedence(level[link], free[link], self.used[link], own[link], count[link])
    }
}

/// See [`Links::precedence`].
pub fn precedence(level: f64, free: f64, used: f64, own: f64, count: f64) -> f64 {
    if level == f64::INFINITY {
        free / count.max(1.0)
    } else {
        level - (used - free).max(0.0) / own.max(1.0)
    }
}
