//! Max-min fair levels after a small change.
//!
//! A flow's rate is the lesser level of its two links, so levels are in *balance* when each is as high as
//! its link's capacity allows, given the levels at the other ends of its flows, and is
//! [`UNLIMITED`] where the link has room for all that those let through. Then every flow has a link that
//! is full and where none is faster, so that rates are max-min fair, and there is only one such
//! allocation.
//!
//! After a flow has ended or a link's capacity has changed, few links are out of balance. They are
//! balanced one by one, the lowest level first, which puts out of balance those at the other ends whose
//! flows were limited by the level that has moved, and so on until the ripple has run out. Where it
//! does not run out soon, the links are filled anew ([`max_min::fill`](super::max_min::fill)).

use super::max_min::UNLIMITED;
use crate::demand::{Demand, bits};
use crate::lanes::word;

/// So many links are balanced; more would cost more than filling them all.
const MOST: usize = 16;
/// So often a level is guessed.
const GUESSES: usize = 16;
/// Relative differences that are nothing but rounding.
const ROUNDING: f64 = 1e-12;
/// So many numbers are looked at together, in a form that compiles to vector instructions.
const LANES: usize = 8;

/// Working memory of a ripple, and its result.
#[derive(Debug, Default)]
pub(super) struct Ripple {
    /// Bytes per second that pass each link.
    pub used: Vec<f64>,
    /// Links whose level has changed; one may occur more than once.
    pub changed: Vec<LevelChange>,
    /// Links out of balance, and whether each link is among these.
    pending: Vec<u32>,
    is_pending: Vec<bool>,
    /// Levels at the other ends of a link's flows.
    levels: Vec<f64>,
}

/// A link that has another level than before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// The link's local number.
    pub link: u32,
    /// Whether its level has passed that of a link at the other end of one of its flows, so that the
    /// flow may be limited by the other of its two links now.
    pub crosses: bool,
}

impl Ripple {
    /// `used` passes each link.
    pub fn start(&mut self, used: impl Iterator<Item = f64>) {
        self.used.clear();
        self.used.extend(used);
        self.changed.clear();
        self.pending.clear();
        self.is_pending.clear();
        self.is_pending.resize(self.used.len(), false);
    }

    /// Finds the links that are out of balance where levels were in balance before capacities changed
    /// and flows ended.
    pub fn find_disturbed(&mut self, capacity: &[f64], level: &[f64]) {
        let is_disturbed = |((used, capacity), level): ((&f64, &f64), &f64)| {
            let slack = capacity * ROUNDING;
            (*used > capacity + slack) | ((*level < UNLIMITED) & (*used < capacity - slack))
        };
        let columns = self.used.chunks(64).zip(capacity.chunks(64)).zip(level.chunks(64));
        let words = columns.map(|((used, capacity), level)| {
            word(used.iter().zip(capacity).zip(level).map(is_disturbed))
        });
        self.pending.extend(bits(words).map(|l| l as u32));
        self.pending.iter().for_each(|&l| self.is_pending[l as usize] = true);
    }

    /// What remains of the links' capacity, residues of rounding left out.
    pub fn rest(&self, capacity: &[f64], rest: &mut [f64]) {
        for ((rest, capacity), used) in rest.iter_mut().zip(capacity).zip(&self.used) {
            let residue = capacity * ROUNDING;
            let used = if *used > residue { *used } else { 0.0 };
            *rest = if capacity - used > residue { capacity - used } else { 0.0 };
        }
    }

    /// Balances the links of a shuffle. Returns whether that was possible; else `level` is undefined.
    pub fn run_out(&mut self, demand: &Demand, capacity: &[f64], level: &mut [f64]) -> bool {
        for _ in 0..=MOST {
            if self.pending.len() > MOST {
                return false;
            }
            let lowest = |&(_, l): &(usize, &u32)| level[*l as usize];
            let first = self.pending.iter().enumerate();
            let Some((k, _)) = first.min_by(|a, b| lowest(a).total_cmp(&lowest(b))) else {
                return true;
            };
            let l = self.pending.swap_remove(k) as usize;
            self.is_pending[l] = false;
            if !self.balance(demand, capacity, level, l) {
                return false;
            }
        }
        false
    }

    /// Sets one link's level right.
    fn balance(&mut self, demand: &Demand, capacity: &[f64], level: &mut [f64], l: usize) -> bool {
        let senders = demand.senders();
        let others = if l < senders { senders..capacity.len() } else { 0..senders };
        levels_of(demand.peer_bits(l), &level[others.clone()], &mut self.levels);
        let was = level[l];
        let count = f64::from(demand.count()[l]);
        let Some((is, used)) = solve(&self.levels, capacity[l], was.min(capacity[l]), count) else {
            return false;
        };
        self.used[l] = used;
        if (is - was).abs() <= was * ROUNDING {
            return true;
        }
        level[l] = is;
        let (is_pending, pending) = (&mut self.is_pending, &mut self.pending);
        let (first, capacity, used) =
            (others.start, &capacity[others.clone()], &mut self.used[others]);
        let crosses = pass_on(&self.levels, capacity, used, [was, is], |k| {
            if !std::mem::replace(&mut is_pending[first + k], true) {
                pending.push((first + k) as u32);
            }
        });
        self.changed.push(LevelChange { link: l as u32, crosses });
        true
    }
}

/// The level of a link of some capacity that balances it, and what passes it, where `levels` are those
/// at the other ends of its flows; there are `count`.
///
/// What passes is a concave function of the level, linear between those of the others; so after the
/// first step Newton's method comes from below and ends after finitely many.
fn solve(levels: &[f64], capacity: f64, mut guess: f64, count: f64) -> Option<(f64, f64)> {
    for _ in 0..GUESSES {
        let (above, below) = tally(levels, guess);
        if above == 0.0 {
            if below <= capacity * (1.0 + ROUNDING) {
                return Some((UNLIMITED, below.min(capacity)));
            }
            // Too high; no level is too high of which there is enough for all.
            guess = capacity / count;
            continue;
        }
        let level = ((capacity - below) / above).max(0.0);
        // Those on whose side of the level the guess was wrong.
        let (low, high) = if level < guess {
            (level * (1.0 + ROUNDING), guess)
        } else {
            (guess, level * (1.0 - ROUNDING))
        };
        if !any(levels, |other| (other > low) & (other <= high)) {
            return Some((level, capacity));
        }
        guess = level;
    }
    None
}

/// Makes `all` the levels of the peers among `others`; zero for those that are none, which so limit
/// nothing and add nothing.
fn levels_of(peers: &[u64], others: &[f64], all: &mut Vec<f64>) {
    all.clear();
    for (peers, others) in peers.iter().zip(others.chunks(64)) {
        if peers.count_ones() as usize == others.len() {
            all.extend_from_slice(others);
        } else {
            let mask = |k: usize| 0_u64.wrapping_sub(peers >> k & 1);
            let masked =
                others.iter().enumerate().map(|(k, l)| f64::from_bits(l.to_bits() & mask(k)));
            all.extend(masked);
        }
    }
}

/// How many levels are above `guess`, and the sum of the others.
fn tally(levels: &[f64], guess: f64) -> (f64, f64) {
    let mut above = [0.0; LANES];
    let mut below = [0.0; LANES];
    let (chunks, rest) = levels.as_chunks::<LANES>();
    for chunk in chunks {
        for j in 0..LANES {
            above[j] += if chunk[j] > guess { 1.0 } else { 0.0 };
            below[j] += if chunk[j] > guess { 0.0 } else { chunk[j] };
        }
    }
    for (j, level) in rest.iter().enumerate() {
        above[j] += if *level > guess { 1.0 } else { 0.0 };
        below[j] += if *level > guess { 0.0 } else { *level };
    }
    (above.iter().sum(), below.iter().sum())
}

/// Whether something `is` so of any level.
fn any(levels: &[f64], is: impl Fn(f64) -> bool) -> bool {
    levels.iter().fold(false, |any, level| any | is(*level))
}

/// A link's level `was` one and `is` another: brings up to date what passes links with some `levels` at
/// the other ends of its flows, and calls `disturbed` with those that are out of balance now. Returns
/// whether it has passed one of these levels.
fn pass_on(
    levels: &[f64],
    capacity: &[f64],
    used: &mut [f64],
    [was, is]: [f64; 2],
    mut disturbed: impl FnMut(usize),
) -> bool {
    // As one instruction, which `f64::min` is not for the sake of NaN.
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let more = |level: f64| lesser(level, is) - lesser(level, was);
    let is_disturbed = |level: f64, capacity: f64, used: f64| {
        ((more(level) != 0.0) & (level < UNLIMITED)) | (used > capacity * (1.0 + ROUNDING))
    };
    let columns = levels.chunks(64).zip(capacity.chunks(64)).zip(used.chunks_mut(64));
    let words = columns.map(|((levels, capacity), used)| {
        word(levels.iter().zip(capacity).zip(used).map(|((level, capacity), used)| {
            *used += more(*level);
            is_disturbed(*level, *capacity, *used)
        }))
    });
    bits(words).for_each(&mut disturbed);
    let (low, high) = (was.min(is), was.max(is));
    any(levels, |level| (level >= low) & (level <= high))
}
