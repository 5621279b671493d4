//! Max-min fair levels after a small change.
//!
//! A flow's rate is the lower level of its two links. A link is in *balance* when its level is as
//! high as its capacity allows, given the levels at the other links of its flows; its level is
//! [`UNLIMITED`] where the link has room for all that those let through. When all links are in
//! balance, each flow has a link that is full and on which no flow is faster. So the rates are
//! max-min fair, and there is only one such allocation.
//!
//! After a flow has ended or a link's capacity has changed, few links violate the balance. They are
//! balanced one by one, the lowest level first. That violates the balance of links at the other
//! ends whose flows the changed level limited, and so the change propagates. Where it does not come
//! to an end soon, all links are filled again ([`max_min`](crate::alloc::rules::max_min)).
//!
//! Measured on the Facebook trace, in instructions of whole simulations, against filling all links
//! each time: aalo 25.8 instead of 29.9 G (14 % fewer), aalo-local 60.5 instead of 69.2 G (13 %),
//! pfp 16.5 instead of 16.8 G (2 %). Policies that do not share max-min within coflows do not come
//! here. In four cases of five, three links are balanced on average. Limits of 10 and 28 links were
//! no better than 16.

use super::changes::Changes;
use super::kept_levels::KeptLevels;
use crate::alloc::rules::progressive_filling::UNLIMITED;
use crate::bits::bits;
use crate::demand::Demand;
use crate::ids::CoflowId;
use crate::marked_links::MarkedLinks;
use crate::simd::bitmask;
use crate::state::CoflowState;

/// The largest number of links that are balanced. More would cost more than to fill all links.
const MAX_BALANCED: usize = 16;
/// How often each flow of a coflow is filled before levels are kept, where paths cross inner links. With 8, `coda` on
/// every fifth coflow of the Facebook trace, `fat-tree:k=8`, takes 3.9 instead of 3.4 G instructions, and `aalo` 2.2
/// instead of 2.0 G.
const FILLED_PER_FLOW: u64 = 2;
/// The largest number of guesses at a level.
const MAX_GUESSES: usize = 16;
/// Relative differences that are nothing but rounding.
const ROUNDING: f64 = 1e-12;
/// Numbers that are handled together, in a form that compiles to vector instructions.
const LANES: usize = 8;

/// A link whose level has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Local number of the link.
    pub link: u32,
    /// Whether its level has passed the level of the other link of one of its flows: that flow may
    /// now be limited by the other one of its two links. Not told where paths cross inner links:
    /// [`CoflowAllocation::moved_flows`](super::coflow_allocation::CoflowAllocation::moved_flows) are.
    pub crosses: bool,
}

/// What is remembered of levels that are max-min fair, and how the last decision changed them.
#[derive(Debug, Default)]
pub struct FairLevels {
    /// The flows to which the levels are fair, if they are.
    flows: Option<FairTo>,
    changes: Vec<LevelChange>,
    /// Whether `changes` are all links that have another level since the previous decision.
    tells_changes: bool,
    /// Where paths cross inner links, what goes on from one decision to the next.
    kept: Option<Box<KeptLevels>>,
    /// Whether the last decision went on from what is kept.
    is_kept: bool,
    /// Number of flows that got a rate, added up over all decisions, since levels were last begun to be kept.
    filled: u64,
}

/// All flows of a coflow at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FairTo {
    begun: u32,
    unfinished: u32,
}

impl FairTo {
    fn all_of(coflow: &CoflowState) -> FairTo {
        FairTo { begun: coflow.begun(), unfinished: coflow.demand().unfinished() }
    }
}

impl FairLevels {
    /// A decision begins. No level has changed so far.
    pub fn start(&mut self) {
        self.changes.clear();
        self.tells_changes = true;
        self.is_kept = false;
    }

    /// Levels are withdrawn, or given by a rule that does not say which have changed.
    pub fn forget(&mut self) {
        self.flows = None;
        self.kept = None;
        self.tells_changes = false;
    }

    /// Another coflow may come to the place of this one.
    pub fn restart(&mut self) {
        self.forget();
        self.filled = 0;
    }

    /// The levels are fair to all active flows of a coflow. Where paths cross inner links, all but `filled` flows
    /// crossed a full link.
    pub fn remember(&mut self, coflow: &CoflowState, filled: usize) {
        self.flows = Some(FairTo::all_of(coflow));
        self.filled += filled as u64;
    }

    /// Positions of flows that another link limits since the last decision, where paths cross inner links and
    /// [`FairLevels::changes`] are known. Some occur twice, some may have ended.
    pub fn moved(&self) -> &[u32] {
        self.kept.as_ref().map_or(&[], |kept| kept.moved())
    }

    /// The links whose level the last decision changed; `None` if it does not say.
    pub fn changes(&self) -> Option<&[LevelChange]> {
        self.tells_changes.then_some(&*self.changes)
    }

    /// What is free has changed at a link, of which [`FairLevels::follow`] is not told.
    pub fn miss(&mut self, link: usize) {
        if let Some(kept) = &mut self.kept {
            kept.miss([link].into_iter());
        }
    }

    /// The same at any links.
    pub fn miss_all(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.miss_all();
        }
    }

    /// What is free has changed at some links, and the levels are to stay.
    pub fn stay(&mut self, links: &MarkedLinks) {
        if let Some(kept) = &mut self.kept {
            kept.stay(links);
            self.is_kept = true;
        }
    }

    /// Whether the next decision costs less if it is known at which links other amounts are free.
    pub fn follows_single_links(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.follows_single_links())
    }

    /// The links at which another amount may be used or left than before the last decision; `None` if it does
    /// not say. Some occur more than once.
    pub fn written(&self) -> Option<&[u32]> {
        self.kept.as_ref().filter(|_| self.is_kept)?.written()
    }

    /// Whether [`FairLevels::limit`] is known.
    pub fn tells_limits(&self) -> bool {
        self.kept.is_some()
    }

    /// The local link that limits the flow at a position, where that is kept: of several with the same level, one of
    /// them for as long as the flow is not [moved](FairLevels::moved).
    pub fn limit(&self, position: usize) -> Option<usize> {
        Some(self.kept.as_ref()?.limit(position) as usize)
    }

    /// Goes on from `levels`, which are fair, after some flows have `ended` and what is free
    /// (`before`, by local link) has changed as `changes` says. `capacity` is that of each link of
    /// the fabric. Brings `levels` and `after` up to date and returns true, if few links have to be
    /// balanced. Otherwise both are undefined. Where paths cross inner links, `after` is told in `changes` too.
    pub fn follow(
        &mut self,
        (id, coflow): (CoflowId, &CoflowState),
        (before, capacity): (&[f64], &[f64]),
        (after, levels): (&mut [f64], &mut [f64]),
        ended: &[(CoflowId, u32)],
        changes: &mut Changes,
        balancing: &mut Balancing,
    ) -> bool {
        let demand = coflow.demand();
        let now = FairTo::all_of(coflow);
        let stay = self.flows == Some(now);
        let ended = ended.iter().filter(|(ended, _)| !stay && id == *ended);
        let then = FairTo { unfinished: now.unfinished + ended.clone().count() as u32, ..now };
        if levels.is_empty() || self.flows != Some(then) {
            return false;
        }
        if !demand.is_bipartite() {
            let ended = ended.map(|(_, position)| *position);
            return self.follow_kept((coflow, ended), (before, capacity), (after, levels), changes);
        }
        if !demand.is_shuffle() {
            return false;
        }
        for (l, previous_free) in changes.previous() {
            after[l] += before[l] - previous_free;
        }
        balancing.start(before.iter().zip(&*after).map(|(before, after)| before - after));
        for &(_, position) in ended {
            let (s, r) = demand.ends(position as usize);
            let rate = levels[s].min(levels[r]);
            balancing.used[s] -= rate;
            balancing.used[r] -= rate;
        }
        balancing.find_violated(before, levels);
        if !balancing.propagate(demand, before, levels) {
            return false;
        }
        balancing.rest(before, after);
        self.changes.clone_from(&balancing.changes);
        self.flows = Some(now);
        true
    }

    /// The same on paths with inner links. Begins to keep the levels if all were filled so often that it pays.
    fn follow_kept(
        &mut self,
        (coflow, ended): (&CoflowState, impl Iterator<Item = u32>),
        (before, capacity): (&[f64], &[f64]),
        (after, levels): (&mut [f64], &mut [f64]),
        changes: &mut Changes,
    ) -> bool {
        let demand = coflow.demand();
        if let Some(kept) = &mut self.kept {
            kept.follow(ended, before, &changes.dirty);
            let change = |&link: &u32| LevelChange { link, crosses: false };
            self.changes.extend(kept.changed().iter().map(change));
            kept.write(before, levels, after, &mut changes.dirty_after);
        } else if self.filled > FILLED_PER_FLOW * u64::from(demand.unfinished()) {
            self.filled = 0;
            self.tells_changes = false;
            let capacity = demand.links().iter().map(|link| capacity[link.index()]);
            let mut kept = Box::new(KeptLevels::new(demand, capacity, before));
            kept.write_all(before, levels, after, &mut changes.dirty_after);
            self.kept = Some(kept);
        } else {
            return false;
        }
        self.is_kept = true;
        self.flows = Some(FairTo::all_of(coflow));
        true
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub struct Balancing {
    /// Bytes per second that pass each link.
    used: Vec<f64>,
    /// Links whose level has changed; one may occur more than once.
    changes: Vec<LevelChange>,
    /// Links out of balance.
    pending: Vec<u32>,
    /// Whether each link is pending.
    is_pending: Vec<bool>,
    /// Levels at the other links of a link's flows.
    levels: Vec<f64>,
}

impl Balancing {
    /// `used` passes each link.
    fn start(&mut self, used: impl Iterator<Item = f64>) {
        self.used.clear();
        self.used.extend(used);
        self.changes.clear();
        self.pending.clear();
        self.is_pending.clear();
        self.is_pending.resize(self.used.len(), false);
    }

    /// Finds the links that are out of balance, where all were in balance before capacities changed
    /// and flows ended.
    fn find_violated(&mut self, capacity: &[f64], level: &[f64]) {
        let is_violated = |((used, capacity), level): ((&f64, &f64), &f64)| {
            let slack = capacity * ROUNDING;
            (*used > capacity + slack) | ((*level < UNLIMITED) & (*used < capacity - slack))
        };
        let columns = self.used.chunks(64).zip(capacity.chunks(64)).zip(level.chunks(64));
        let words = columns.map(|((used, capacity), level)| {
            bitmask(used.iter().zip(capacity).zip(level).map(is_violated))
        });
        self.pending.extend(bits(words).map(|l| l as u32));
        self.pending.iter().for_each(|&l| self.is_pending[l as usize] = true);
    }

    /// Makes `rest` what remains of the links' capacity, without residues of rounding.
    fn rest(&self, capacity: &[f64], rest: &mut [f64]) {
        for ((rest, capacity), used) in rest.iter_mut().zip(capacity).zip(&self.used) {
            let residue = capacity * ROUNDING;
            let used = if *used > residue { *used } else { 0.0 };
            *rest = if capacity - used > residue { capacity - used } else { 0.0 };
        }
    }

    /// Balances the links of a shuffle. Returns false if they are too many; `level` is undefined
    /// then.
    fn propagate(&mut self, demand: &Demand, capacity: &[f64], level: &mut [f64]) -> bool {
        for _ in 0..=MAX_BALANCED {
            if self.pending.len() > MAX_BALANCED {
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

    /// Balances one link. Returns false if its level was not found.
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
        self.changes.push(LevelChange { link: l as u32, crosses });
        true
    }
}

/// The level that balances a link of some capacity, and what passes the link then. `levels` are
/// those at the other links of its flows, of which there are `count`.
///
/// The sum of rates is a concave function of the level, and linear between the levels of the others. So
/// Newton's method comes from below after its first step, and ends after finitely many.
fn solve(levels: &[f64], capacity: f64, mut guess: f64, count: f64) -> Option<(f64, f64)> {
    for _ in 0..MAX_GUESSES {
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
        // Levels between these two were counted on the wrong side.
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

/// Makes `all` the levels of the peers among `others`. Links that are no peers get zero, which
/// limits nothing and adds nothing.
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

/// Whether any level satisfies `is`.
fn any(levels: &[f64], is: impl Fn(f64) -> bool) -> bool {
    levels.iter().fold(false, |any, level| any | is(*level))
}

/// A link's level `was` one and `is` another. Brings up to date what passes the other links of its
/// flows, which have these `levels`, and calls `violated` for those that are out of balance now.
/// Returns whether the link's level has passed one of these levels.
///
/// It is not inlined: the compiler does not vectorise it inside its caller, where `aalo` takes 9 %
/// more instructions on every fifth coflow of the Facebook trace.
#[inline(never)]
fn pass_on(
    levels: &[f64],
    capacity: &[f64],
    used: &mut [f64],
    [was, is]: [f64; 2],
    mut violated: impl FnMut(usize),
) -> bool {
    // As one instruction, which `f64::min` is not for the sake of NaN.
    let lower = |a: f64, b: f64| if a < b { a } else { b };
    let more = |level: f64| lower(level, is) - lower(level, was);
    let is_violated = |level: f64, capacity: f64, used: f64| {
        ((more(level) != 0.0) & (level < UNLIMITED)) | (used > capacity * (1.0 + ROUNDING))
    };
    let columns = levels.chunks(64).zip(capacity.chunks(64)).zip(used.chunks_mut(64));
    let words = columns.map(|((levels, capacity), used)| {
        bitmask(levels.iter().zip(capacity).zip(used).map(|((level, capacity), used)| {
            *used += more(*level);
            is_violated(*level, *capacity, *used)
        }))
    });
    bits(words).for_each(&mut violated);
    let (low, high) = (was.min(is), was.max(is));
    any(levels, |level| (level >= low) & (level <= high))
}
