//! Max-min fairness of one class on any paths, kept up to date as flows come and go.
//!
//! Every bundle is attached to the link that limits it, and its rate is that link's water level. A link is
//! *full* if its level is finite. Rates are max-min fair when three things hold:
//!
//! - no link is used for more than is free there;
//! - a full link is used for all that is free there;
//! - a bundle is attached to the link with the lowest level on its path.
//!
//! When flows come or go, the first two fail at few links. These are *balanced*, lowest level first: a link
//! gets the level at which its use is right, and bundles whose limiting link changes by that are attached
//! elsewhere. That changes what is used of the links with higher levels, which are balanced in turn. Levels
//! below the lowest of the links that were off stay as they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::bundles::{Bundles, NONE};
pub use super::dense_rows::MAX_DENSE_LINKS;
use super::divided::Divided;
use super::links::{Links, precedence};
use super::queue::Queue;
use super::rows::{Form, Rows};
use covey_core::Ordered;
use covey_core::sets::bits::has_bit;
use covey_core::sets::marked_links::MarkedLinks;

/// In a round, so many links are balanced, one more for each bundle, and one for so many links of the fabric. If more
/// are off, levels are worked out from nothing, which costs about as much: so a round costs at most about twice what
/// it must. Many are off when many flows come at once to a network that has few.
///
/// With up to 64 balances for each link, `fair` on the Facebook trace, `fat-tree:k=24,place=rack`, takes 11.8
/// instead of 7.7 s of CPU: half of the balances are in 400 of 250,000 rounds.
const BALANCES: usize = 256;
const LINKS_PER_BALANCE: usize = 64;

/// The number of rounds after which sums are added up again, at least, and one more for so many links: rounding adds
/// up, and a round changes fewer of many links.
const ROUNDS_PER_SUM: usize = 1024;
const LINKS_PER_ROUND: usize = 16;

/// Where subtractions leave less than this of what was there, weights are added up again.
const CANCELLED: f64 = 1e-3;

/// The water levels of one class, and which bundles are attached where.
#[derive(Debug, Default)]
pub struct WaterLevels {
    links: Links,
    /// By link, the bundles attached to it, and the bundles that cross it.
    attached: Vec<Vec<u32>>,
    crossing: Vec<Vec<u32>>,
    /// Number of bundles.
    present: usize,
    /// By link, what the bundles attached to it cross beside it.
    rows: Rows,
    queue: Queue,
    changes: Changes,
    /// Whether another amount is used or free of a link than when that was last handed on.
    is_touched: bool,
    /// These links, if they are noted. With a list in which links occur once for each change, `fair` on
    /// `fat-tree:k=24` takes 7.4 instead of 7.1 s of CPU.
    touched: MarkedLinks,
    /// Whether these links are noted: there are no tables, and somebody asks.
    notes_touched: bool,
    rounds: usize,
    /// Where links are divided in proportion, instead of fairly.
    divided: Option<Divided>,
    /// Working memory: bundles that move, and their levels.
    moving: Vec<(u32, f64)>,
    /// Working memory: what is free of each link.
    offered: Vec<f64>,
    filling: Filling,
}

/// Working memory of [`WaterLevels::fill`].
#[derive(Debug, Default)]
struct Filling {
    /// Levels, and what was used, before.
    level: Vec<f64>,
    used: Vec<f64>,
    /// By link, the flows whose rates still rise: what they count for, what they did when that was last added up, and
    /// the number of their bundles.
    open: Vec<f64>,
    all: Vec<f64>,
    bundles: Vec<u32>,
    /// Levels at which links will be full, or less.
    full: BinaryHeap<Reverse<(Ordered, u32)>>,
}

/// What has changed since [`WaterLevels::clear_changes`]; some of it occurs twice.
#[derive(Debug, Default)]
pub struct Changes {
    /// Links with another level.
    pub levels: Vec<u32>,
    /// Bundles that are attached elsewhere.
    pub bundles: Vec<u32>,
}

impl WaterLevels {
    /// No flows on links of these capacities. If there are few links and many flows, tables of links are fast
    /// (`is_dense`).
    pub fn clear(&mut self, capacity: impl ExactSizeIterator<Item = f64> + Clone, is_dense: bool) {
        let links = capacity.len();
        self.links.clear(capacity);
        empty(&mut self.attached, links);
        empty(&mut self.crossing, links);
        self.rows.start(links, if is_dense { Form::Dense } else { Form::Paths });
        self.queue.clear(links);
        self.clear_changes();
        self.touched.start(links);
        self.is_touched = false;
        self.notes_touched = false;
        self.present = 0;
        self.rounds = 0;
        self.divided = None;
    }

    /// Number of links.
    fn count_links(&self) -> usize {
        self.links.level.len()
    }

    /// The level of each link, in bytes per second; infinite where the link limits no flow.
    pub fn levels(&self) -> &[f64] {
        &self.links.level
    }

    /// What is free of a link for the class after this one.
    fn spare(&self, link: usize) -> f64 {
        (self.links.free[link] - self.links.used[link]).max(0.0)
    }

    /// What is free of each link for the class after this one.
    pub fn all_spare(&self) -> impl Iterator<Item = f64> + '_ {
        self.links.free.iter().zip(&self.links.used).map(|(free, used)| (free - used).max(0.0))
    }

    /// Notes from now on, unless there are tables, of which links another amount is used or free. So far it may be any.
    /// Nothing follows the last class, and to note its links takes 6 % of the CPU time of `fair` on
    /// `fat-tree:k=16,place=rack`.
    pub fn note_touched(&mut self) {
        self.notes_touched = !self.is_dense();
        self.is_touched = true;
        self.touched.fill();
    }

    /// Tells the next class, if there is one, what this one leaves. There is none unless it
    /// [notes](WaterLevels::note_touched) touched links.
    pub fn hand_on(&mut self, next: Option<&mut WaterLevels>) {
        let is_touched = std::mem::take(&mut self.is_touched);
        if let Some(next) = next.filter(|_| is_touched) {
            if !self.is_dense() {
                self.touched.iter().for_each(|link| next.set_free(link, self.spare(link)));
            } else {
                next.offer(self.all_spare());
            }
        }
        self.touched.clear();
    }

    /// Sets what is free of a link for this class.
    pub fn set_free(&mut self, link: usize, free: f64) {
        if self.links.set_free(link, free) {
            self.touch(link);
            self.look_at(link);
        }
    }

    /// Sets what is free of every link for this class.
    pub fn offer(&mut self, free: impl Iterator<Item = f64>) {
        let mut offered = std::mem::take(&mut self.offered);
        offered.clear();
        offered.extend(free);
        self.set_all_free(&offered);
        self.offered = offered;
    }

    /// The same, of numbers that stand in memory.
    pub fn set_all_free(&mut self, free: &[f64]) {
        let WaterLevels { links, queue, .. } = self;
        let off = |links: &Links, word, off| queue.push_all(word, off, |l| links.precedence(l));
        self.is_touched |= links.set_all_free(free, off);
        if self.notes_touched {
            self.touched.fill();
        }
    }

    /// Whether there are tables of links.
    pub fn is_dense(&self) -> bool {
        self.rows.form == Form::Dense
    }

    /// If they are [noted](WaterLevels::note_touched), the links of which another amount is used or free than when that
    /// was last handed on.
    pub fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        self.touched.iter()
    }

    /// Whether what is free of each link is what the levels go by, but for rounding.
    pub fn knows(&self, free: &[f64]) -> bool {
        free.iter().enumerate().all(|(l, free)| self.links.is_free(l, *free))
    }

    /// Another amount is used or free of a link.
    fn touch(&mut self, link: usize) {
        self.is_touched = true;
        if self.notes_touched {
            self.touched.insert(link);
        }
    }

    /// What has changed since [`WaterLevels::clear_changes`].
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Forgets what has changed.
    pub fn clear_changes(&mut self) {
        self.changes.levels.clear();
        self.changes.bundles.clear();
    }

    /// What a link carries at most, what is free of it for this class, and what the class uses.
    pub fn link(&self, link: usize) -> (f64, f64, f64) {
        (self.links.capacity[link], self.links.free[link], self.links.used[link])
    }

    /// [`WaterLevels::link`] of some links.
    pub fn links_in(&self, some: Range<usize>) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let Links { capacity, free, used, .. } = &self.links;
        let both = free[some.clone()].iter().zip(&used[some.clone()]);
        capacity[some].iter().zip(both).map(|(c, (free, used))| (*c, *free, *used))
    }

    fn look_at(&mut self, link: usize) {
        if self.links.is_off(link) {
            self.queue.push(link, || self.links.precedence(link));
        }
    }

    fn set_level(&mut self, link: usize, level: f64) {
        self.links.set_level(link, level);
        self.changes.levels.push(link as u32);
        self.touch(link);
    }

    /// A bundle has got its first flow.
    pub fn join(&mut self, bundles: &mut Bundles, bundle: u32) {
        let lowest = self.lowest_link(bundles.path(bundle));
        let (link, weight) = (lowest as usize, bundles.weight(bundle));
        // With the whole capacity for this bundle, the link is used for more than is free if any other flow has a rate
        // there, so the balance finds those that are to have less. Sums of more than that would not be exact.
        let (level, most) = (self.links.level[link], self.links.capacity[link] / weight);
        if level > most {
            if level < f64::INFINITY {
                self.raise_own(link, (level, most));
                self.links.used[link] += self.links.own[link] * (most - level);
            }
            self.set_level(link, most);
        }
        bundles.attach(bundle, lowest, &mut self.attached[link]);
        bundles.cross(bundle, &mut self.crossing);
        self.present += 1;
        self.changes.bundles.push(bundle);
        if !self.is_dense() {
            self.note_others(bundles, bundle, self.links.level[link]);
        }
        let path = bundles.path(bundle);
        self.rows.attach(link, path, weight);
        self.count(link, path, weight);
    }

    /// A bundle has got its first flow. It is attached nowhere until levels are worked out from
    /// [nothing](WaterLevels::fill).
    pub fn enter(&mut self, bundles: &mut Bundles, bundle: u32) {
        bundles.cross(bundle, &mut self.crossing);
        self.present += 1;
        let weight = bundles.weight(bundle);
        bundles.path(bundle).iter().for_each(|&l| self.links.count[l as usize] += weight);
    }

    /// A bundle is attached where the level is `level`, which other links of its path have to know.
    fn note_others(&mut self, bundles: &Bundles, bundle: u32, level: f64) {
        let others = bundles.path(bundle).iter().filter(|&&l| l != bundles.attached(bundle));
        others.for_each(|&l| self.links.note_other(l as usize, level));
    }

    /// A bundle has got more flows (`by > 0`) or has lost some.
    pub fn weigh(&mut self, bundles: &Bundles, bundle: u32, by: f64) {
        let (link, path) = (bundles.attached(bundle) as usize, bundles.path(bundle));
        self.rows.weigh((link, bundles.place(bundle)), path, by);
        self.count(link, path, by);
    }

    /// The flows of each bundle count for a part of what they did, and all rates stay: levels rise. `part` gives that
    /// part by level, and `raise` the new level; neither changes the order of levels.
    ///
    /// What flows count for at links where they are not attached is not brought up to date: it is a bound.
    pub fn shrink(
        &mut self,
        bundles: &mut Bundles,
        part: impl Fn(f64) -> f64,
        raise: impl Fn(f64) -> f64,
    ) {
        for link in 0..self.count_links() {
            let level = self.links.level[link];
            if level == f64::INFINITY {
                continue;
            }
            let part = part(level);
            if part < 1.0 {
                for &bundle in &self.attached[link] {
                    bundles.set_weight(bundle, bundles.weight(bundle) * part);
                }
                self.rows.paths.scale(link, part);
                self.links.own[link] *= part;
                self.links.level[link] = raise(level);
            }
            self.links.others[link] = raise(self.links.others[link]);
        }
    }

    /// More flows that are attached to `link` cross a path, or fewer.
    #[inline(always)]
    fn count(&mut self, link: usize, path: &[u32], by: f64) {
        let level = self.links.level[link];
        self.links.own[link] += by;
        for l in path.iter().map(|&l| l as usize) {
            self.links.count[l] += by;
            match &mut self.divided {
                None => self.use_more(l, by * level),
                Some(divided) => {
                    divided.weights[l].add(by);
                    self.touch(l);
                }
            }
        }
    }

    /// A bundle is about to lose its last flows.
    pub fn leave(&mut self, bundles: &mut Bundles, bundle: u32) {
        let (link, path) = (bundles.attached(bundle) as usize, bundles.path(bundle));
        let weight = bundles.weight(bundle);
        self.rows.detach((link, bundles.place(bundle)), path, weight);
        self.count(link, path, -weight);
        bundles.uncross(bundle, &mut self.crossing);
        bundles.detach(bundle, &mut self.attached[link]);
        self.present -= 1;
        self.limit_no_more(link);
    }

    /// A link limits no flow, if none is attached to it any more, however little of it the last one has used. Links
    /// that are divided in proportion have their level all the same.
    fn limit_no_more(&mut self, link: usize) {
        if self.attached[link].is_empty() && self.rows.form != Form::None {
            self.links.own[link] = 0.0;
            self.set_level(link, f64::INFINITY);
        }
    }

    #[inline(always)]
    fn use_more(&mut self, link: usize, by: f64) {
        self.links.used[link] += by;
        self.touch(link);
        if self.links.may_be_off(link) {
            self.queue.push(link, || self.links.precedence(link));
        }
    }

    /// The link with the lowest level on a path; of equal ones the first.
    fn lowest_link(&self, path: &[u32]) -> u32 {
        let (mut lowest, mut level) = (path[0], f64::INFINITY);
        for &link in path {
            if self.links.level[link as usize] < level {
                (lowest, level) = (link, self.links.level[link as usize]);
            }
        }
        lowest
    }

    /// Attaches a bundle to another link, while the levels of both are `from` and `to`.
    fn move_to(&mut self, bundles: &mut Bundles, bundle: u32, link: u32, (from, to): (f64, f64)) {
        let (before, weight) = (bundles.attached(bundle) as usize, bundles.weight(bundle));
        let place = bundles.place(bundle);
        bundles.detach(bundle, &mut self.attached[before]);
        bundles.attach(bundle, link, &mut self.attached[link as usize]);
        self.links.own[before] -= weight;
        self.links.own[link as usize] += weight;
        let path = bundles.path(bundle);
        self.rows.detach((before, place), path, weight);
        self.rows.attach(link as usize, path, weight);
        if !self.is_dense() {
            self.note_others(bundles, bundle, to);
        }
        self.changes.bundles.push(bundle);
        if from != to {
            for &l in path {
                self.use_more(l as usize, weight * (to - from));
            }
        }
        self.limit_no_more(before);
    }

    /// Balances all links that are off.
    pub fn balance(&mut self, bundles: &mut Bundles) {
        if self.divided.is_some() {
            return self.divide(bundles);
        }
        let mut left = BALANCES + self.present + self.count_links() / LINKS_PER_BALANCE;
        while let Some(link) = self.queue.pop() {
            if !self.links.is_off(link) {
                continue;
            }
            if left == 0 {
                self.fill(bundles);
                break;
            }
            left -= 1;
            self.balance_link(bundles, link);
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS_PER_SUM + self.count_links() / LINKS_PER_ROUND {
            self.rounds = 0;
            self.add_up(bundles);
        }
    }

    /// Divides links in proportion from now on. There are no flows.
    pub fn divide_in_proportion(&mut self) {
        self.note_touched();
        self.divided = Some(Divided::new(self.count_links()));
        self.rows.form = Form::None;
    }

    /// Works out the levels of links that have other flows than before, and attaches bundles to the lowest.
    fn divide(&mut self, bundles: &mut Bundles) {
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
                self.move_to(bundles, bundle, lowest, (level, level));
            }
        }
        self.moving = moving;
    }

    /// Adds up again what is used of each link.
    fn add_up(&mut self, bundles: &Bundles) {
        for link in 0..self.count_links() {
            let level = |it: u32| self.links.level[bundles.attached(it) as usize];
            let weights = self.crossing[link].iter().map(|&it| bundles.weight(it) * level(it));
            self.links.used[link] = weights.sum();
            self.look_at(link);
        }
    }

    /// Adds up what the flows attached to a link count for: differences of weights of any size are not exact.
    fn weigh_own(&mut self, bundles: &Bundles, link: usize) {
        if bundles.have_weights() {
            self.links.own[link] = self.attached[link].iter().map(|&it| bundles.weight(it)).sum();
        }
    }

    fn balance_link(&mut self, bundles: &mut Bundles, link: usize) {
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

    /// Raises a link's level to about `raised`, where other links limit flows that use `others`. Bundles for
    /// which another link is lower then are attached to that one.
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
                    self.move_to(bundles, bundle, other, (level, to));
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
        self.raise_own(link, (level, raised));
        self.links.used[link] = others + self.links.own[link] * raised;
        self.set_level(link, raised);
    }

    /// Lowers a link's level to where its use is right. Bundles that had more by other links, which use
    /// `others` in all, are attached to this one.
    fn lower(&mut self, bundles: &mut Bundles, link: usize, others: f64) {
        let (level, free, own) =
            (self.links.level[link], self.links.free[link], self.links.own[link]);
        // At least that: if only the flows attached here had less, or all flows that cross the link had the same.
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
            self.raise_own(link, (level, lowered));
        }
        self.set_level(link, lowered);
        self.links.others[link] = highest;
        for &(bundle, at) in &moving {
            self.move_to(bundles, bundle, link as u32, (at, lowered));
        }
        self.moving = moving;
        self.links.used[link] = rest + weight * lowered;
    }

    /// Makes `moving` the bundles that cross a link and have a rate above `level` by another one. Returns a bound of
    /// the rates of the others.
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
    fn raise_own(&mut self, link: usize, (from, to): (f64, f64)) {
        let by = to - from;
        let WaterLevels { links, queue, touched, notes_touched, rows, .. } = self;
        let Links { level, free, used, full, ceiling, own, count, others, .. } = links;
        match rows.form {
            Form::None => return,
            Form::Paths => {}
            Form::Dense => {
                return rows.dense.raise(link, by, used, (full, ceiling), |word, off, used| {
                    queue.push_all(word, off, |l| {
                        precedence(level[l], free[l], used[l], own[l], count[l])
                    });
                });
            }
        }
        // As slices, which stay where they are while one of them is written: 2 % less CPU.
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

/// Empties the lists of so many links. Lists of other links stay, so that their memory is used again.
fn empty(lists: &mut Vec<Vec<u32>>, links: usize) {
    lists.iter_mut().for_each(Vec::clear);
    lists.resize_with(links.max(lists.len()), Vec::new);
}

#[cfg(test)]
mod tests;
