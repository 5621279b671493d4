//! Max-min fairness of one class, or of one coflow, on any paths, kept up to date as flows come and
//! go.
//!
//! Every bundle is attached to the link that limits it, and its rate is that link's water level. A
//! link is *full* if its level is finite. Rates are max-min fair when three things hold:
//!
//! - no link is used for more than is free there;
//! - a full link is used for all that is free there;
//! - a bundle is attached to the link with the lowest level on its path.
//!
//! When flows come or go, the first two fail at few links. These are *balanced*, lowest level
//! first: a link gets the level at which its use is right, and bundles whose limiting link changes
//! by that are attached elsewhere. That changes what is used of the links with higher levels, which
//! are balanced in turn. Levels below the lowest of the links that were off stay as they are.

use std::ops::Range;

use super::bundles::Bundles;
pub use super::dense_rows::MAX_DENSE_LINKS;
use super::divided::Divided;
use super::filling::Filling;
use super::links::Links;
use super::queue::Queue;
use super::rows::{Form, Rows};
use covey_core::sets::marked_links::MarkedLinks;

/// In a round, so many links are balanced, one more for each bundle, and one for so many links of
/// the fabric. If more are off, levels are worked out from nothing, which costs about as much: so a
/// round costs at most about twice what it must. Many are off when many flows come at once to a
/// network that has few.
const BALANCES: usize = 256;
const LINKS_PER_BALANCE: usize = 64;

/// The number of rounds after which sums are added up again, at least, and one more for so many
/// links: rounding adds up, and a round changes fewer of many links.
const ROUNDS_PER_SUM: usize = 1024;
const LINKS_PER_ROUND: usize = 16;

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
    /// The links for which that holds, if they are noted.
    touched: MarkedLinks,
    /// Whether `touched` is kept up: there are no tables, and somebody asks for it.
    notes_touched: bool,
    rounds: usize,
    /// Where links are divided in proportion, instead of fairly.
    divided: Option<Divided>,
    /// Working memory: bundles that move, and their levels.
    moving: Vec<(u32, f64)>,
    /// Working memory: what is free of each link.
    offered: Vec<f64>,
    filling: Filling,
    /// Working memory: bundles, and the links that limit them.
    limited: Vec<(u32, u32)>,
    /// Working memory: levels, and what was used, before all was worked out from nothing.
    before: Before,
}

/// What a class uses of a link, in bytes per second.
#[derive(Debug, Clone, Copy)]
pub struct LinkUse {
    /// What the link carries at most.
    pub capacity: f64,
    /// What is free for the class.
    pub free: f64,
    /// What the class uses.
    pub used: f64,
}

/// What was known of links before a filling.
#[derive(Debug, Default)]
struct Before {
    level: Vec<f64>,
    used: Vec<f64>,
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
    /// No flows on links of these capacities. If there are few links and many flows, tables of
    /// links are fast (`is_dense`).
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

    /// Notes from now on, unless there are tables, of which links another amount is used or free.
    /// So far it may be any. Nothing follows the last class, so its links need not be noted.
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

    /// If they are [noted](WaterLevels::note_touched), the links of which another amount is used or
    /// free than when that was last handed on.
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

    /// What is known of a link.
    pub fn link(&self, link: usize) -> LinkUse {
        let Links { capacity, free, used, .. } = &self.links;
        LinkUse { capacity: capacity[link], free: free[link], used: used[link] }
    }

    /// [`WaterLevels::link`] of some links.
    pub fn links_in(&self, some: Range<usize>) -> impl Iterator<Item = LinkUse> + '_ {
        let Links { capacity, free, used, .. } = &self.links;
        let both = free[some.clone()].iter().zip(&used[some.clone()]);
        let numbers = capacity[some].iter().zip(both);
        numbers.map(|(&capacity, (&free, &used))| LinkUse { capacity, free, used })
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
        // With the whole capacity for this bundle, the link is used for more than is free if any
        // other flow has a rate there, so the balance finds those that are to have less. Sums of
        // more than that would not be exact.
        let (level, most) = (self.links.level[link], self.links.capacity[link] / weight);
        if level > most {
            if level < f64::INFINITY {
                self.weigh_own(bundles, link);
                self.raise_own(link, level, most);
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
        self.rows.weigh(link, bundles.place(bundle), path, by);
        self.count(link, path, by);
    }

    /// The flows of each bundle count for a part of what they did, and all rates stay: levels rise.
    /// `part` gives that part by level, and `raise` the new level; neither changes the order of
    /// levels.
    ///
    /// What flows count for at links where they are not attached is not brought up to date: it is a
    /// bound.
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
        self.rows.detach(link, bundles.place(bundle), path, weight);
        self.count(link, path, -weight);
        bundles.uncross(bundle, &mut self.crossing);
        bundles.detach(bundle, &mut self.attached[link]);
        self.present -= 1;
        self.limit_no_more(link);
    }

    /// A link limits no flow, if none is attached to it any more, however little of it the last one
    /// has used. Links that are divided in proportion have their level all the same.
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
    fn move_to(&mut self, bundles: &mut Bundles, bundle: u32, link: u32, from: f64, to: f64) {
        let (before, weight) = (bundles.attached(bundle) as usize, bundles.weight(bundle));
        let place = bundles.place(bundle);
        bundles.detach(bundle, &mut self.attached[before]);
        bundles.attach(bundle, link, &mut self.attached[link as usize]);
        self.links.own[before] -= weight;
        self.links.own[link as usize] += weight;
        let path = bundles.path(bundle);
        self.rows.detach(before, place, path, weight);
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

    /// Adds up again what is used of each link.
    fn add_up(&mut self, bundles: &Bundles) {
        for link in 0..self.count_links() {
            let level = |it: u32| self.links.level[bundles.attached(it) as usize];
            let weights = self.crossing[link].iter().map(|&it| bundles.weight(it) * level(it));
            self.links.used[link] = weights.sum();
            self.look_at(link);
        }
    }
}

/// Empties the lists of so many links. Lists of other links stay, so that their memory is used
/// again.
fn empty(lists: &mut Vec<Vec<u32>>, links: usize) {
    lists.iter_mut().for_each(Vec::clear);
    lists.resize_with(links.max(lists.len()), Vec::new);
}

mod balancing;
mod dividing;
mod filling;
#[cfg(test)]
mod tests;
