//! The amounts between which the rates of a coflow stay, where nodes divide their own links.

use crate::free_capacity::{FreeCapacity, NEGLIGIBLE, open_links, usable_amount, usable_of};
use crate::kept::entry_allocation::EntryAllocation;
use covey_core::Demand;
use covey_core::sets::bits::bits;
use covey_core::sets::link_set::WholeWord;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::sets::simd::{bitmask, blend, of_64, of_64_mut};
use covey_core::{Entry, Rule};

/// What a coflow finds, takes and leaves at each of its links, and the amounts between which its rates
/// stay. All amounts are in bytes per second, by local link: with all links of the fabric, 2,000 coflows on a FatTree
/// with k = 48 take 1.2 GB.
///
/// Most links of a wide coflow change on each pass, so [whole words](covey_core::sets::link_set::WholeWord) are gone through in
/// vector instructions: on four fifths of the public Facebook trace, `fat-tree:k=8`, `fifo-lm` takes 23.0 and 26.2 s of
/// CPU so, and 27.7 and 28.8 s link by link (two pairs).
#[derive(Debug, Default)]
pub struct Bounds {
    /// What is spare before the coflow.
    pub spare: Vec<f64>,
    /// How much more is spare behind the coflow than before it, as it uses less than its own shares;
    /// negative if more.
    adds: Vec<f64>,
    /// The rates stay while the coflow leaves no less than nothing and no more than this.
    slack: Vec<f64>,
    /// What the coflow uses of its own shares.
    own: Vec<f64>,
    /// Links at which it finds another amount than at the last decision: bits of the words of
    /// [`Demand::set`].
    stale: Vec<u64>,
    /// Whether it is known what is spare before the coflow.
    pub knows_spare: bool,
}

impl Bounds {
    /// Whether bounds are kept. They are for a coflow that gets anything.
    pub fn are_kept(&self) -> bool {
        !self.spare.is_empty()
    }

    /// Unless bounds are kept, begins with those of a coflow that uses nothing, on a fabric of so many
    /// links.
    pub fn begin(&mut self, demand: &Demand, links: usize, pool: &mut Vec<Bounds>) {
        if self.are_kept() {
            return;
        }
        *self = pool.pop().unwrap_or_default();
        let Bounds { spare, adds, slack, own, stale, .. } = self;
        for (amounts, first) in [(spare, 0.0), (adds, 0.0), (slack, f64::INFINITY), (own, 0.0)] {
            amounts.clear();
            // Whichever coflow has this memory next, it is enough.
            amounts.reserve(links);
            amounts.resize(demand.links().len(), first);
        }
        stale.clear();
        stale.reserve(links.div_ceil(64));
        stale.resize(demand.set().words().len(), 0);
        self.knows_spare = false;
    }

    /// The coflow gets nothing. Its bounds are not kept, as they take much memory.
    pub fn end(&mut self, pool: &mut Vec<Bounds>) {
        if self.are_kept() {
            pool.push(std::mem::take(self));
        }
    }

    /// What is spare at local link `l` behind the coflow if its rates stay.
    pub fn left(&self, l: usize) -> f64 {
        self.spare[l] + self.adds[l]
    }

    /// Takes over what is spare at dirty links, and makes `spare` what the coflow leaves there if its rates
    /// stay. Returns whether they do.
    pub fn pass(&mut self, demand: &Demand, spare: &mut FreeCapacity, capacity: &[f64]) -> bool {
        let FreeCapacity { amount, dirty, open } = spare;
        let mut stay = true;
        let set = demand.set();
        let mut whole = set.whole_words();
        for (number, word) in set.words().iter().enumerate() {
            let at = word.at as usize;
            let here = word.bits & dirty.words()[at];
            if here == 0 {
                continue;
            }
            self.stale[number] |= here;
            if let Some(whole) = WholeWord::next(&mut whole, number) {
                let amount = of_64_mut(amount, whole.link);
                let spare = of_64_mut(&mut self.spare, whole.local);
                blend(spare, amount, here);
                let mut left = *spare;
                left.iter_mut()
                    .zip(of_64(&self.adds, whole.local))
                    .for_each(|(l, adds)| *l += adds);
                let bounds = left.iter().zip(of_64(&self.slack, whole.local));
                stay &= here & bitmask(bounds.map(|(l, slack)| !((*l >= 0.0) & (l <= slack)))) == 0;
                blend(amount, &left, here);
                let is_open = open_links(&left, of_64(capacity, whole.link));
                open[at] = open[at] & !here | is_open & here;
                continue;
            }
            let mut is_open = open[at] & !here;
            for k in bits([here].into_iter()) {
                let (link, l) = (64 * at + k, set.local_in(number, k));
                self.spare[l] = amount[link];
                let left = self.left(l);
                stay &= (left >= 0.0) & (left <= self.slack[l]);
                amount[link] = left;
                is_open |= u64::from(left > capacity[link] * NEGLIGIBLE) << k;
            }
            open[at] = is_open;
        }
        stay
    }

    /// What the coflow finds at one of its links, local link `l`.
    fn found(&self, (link, l): (usize, usize), capacity: &[f64]) -> f64 {
        usable_amount(self.spare[l] + self.own[l], capacity[link])
    }

    /// Makes `found` what the coflow finds at each of its links.
    pub fn find_all(&self, demand: &Demand, capacity: &[f64], found: &mut Vec<f64>) {
        found.clear();
        found.extend(self.spare.iter().zip(&self.own).map(|(spare, own)| spare + own));
        for whole in demand.set().whole_words() {
            let all = of_64_mut(found, whole.local);
            *all = usable_of(all, of_64(capacity, whole.link));
        }
        for l in demand.set().others().iter() {
            found[l] = usable_amount(found[l], capacity[demand.links()[l].index()]);
        }
    }

    /// Offers `part` what the coflow finds, if that is followed link by link. Returns whether it is.
    pub fn offer_stale(
        &self,
        part: &mut EntryAllocation,
        demand: &Demand,
        entry: &Entry,
        capacity: &[f64],
    ) -> bool {
        let is_followed = entry.rule == Rule::MaxMin && part.follows_single_links();
        if is_followed {
            for (link, l) in demand.set().common_words(self.stale.iter().copied()) {
                part.offer_at(l, self.found((link, l), capacity));
            }
        }
        is_followed
    }

    /// The coflow leaves an amount at one of its links, local link `l`. Makes the link dirty if the coflow takes
    /// another amount than before.
    ///
    /// In line as [`Bounds::set_own`] is: two calls each are too many for the compiler to do that unasked, and
    /// the policies of ports take 3 % more instructions on every fifth coflow of the Facebook trace.
    #[inline(always)]
    fn leave(
        &mut self,
        (link, l): (usize, usize),
        left: f64,
        spare: &mut FreeCapacity,
        capacity: &[f64],
    ) {
        let adds = left - self.spare[l];
        if adds != self.adds[l] {
            self.adds[l] = adds;
            spare.dirty.insert(link);
            spare.leave(link, left, capacity);
        }
    }

    /// The same at all links, of which this is `left`.
    fn leave_all(
        &mut self,
        demand: &Demand,
        left: &[f64],
        spare: &mut FreeCapacity,
        capacity: &[f64],
    ) {
        for whole in demand.set().whole_words() {
            let left = of_64(left, whole.local);
            let mut adds = *left;
            let columns = adds.iter_mut().zip(of_64(&self.spare, whole.local));
            columns.for_each(|(adds, spare)| *adds -= spare);
            let before = of_64_mut(&mut self.adds, whole.local);
            let differ = bitmask(adds.iter().zip(&*before).map(|(adds, before)| adds != before));
            *before = adds;
            spare.leave_some(whole.link, differ, left, capacity);
        }
        for l in demand.set().others().iter() {
            self.leave((demand.links()[l].index(), l), left[l], spare, capacity);
        }
    }

    /// The coflow uses an amount of its own share of local link `l`. If it is another one than before, makes the
    /// link dirty, and `spare` what is spare there.
    #[inline(always)]
    pub fn set_own(
        &mut self,
        demand: &Demand,
        l: usize,
        own: f64,
        (spare, dirty): (&mut [f64], &mut MarkedLinks),
    ) {
        let less = self.own[l] - own;
        if less != 0.0 {
            let link = demand.links()[l].index();
            self.own[l] = own;
            self.adds[l] -= less;
            self.stale[demand.set().word_of(link)] |= 1 << (link % 64);
            spare[link] += less;
            dirty.insert(link);
        }
    }

    /// The same at all links, of which it uses what `part` has.
    pub fn set_all_own(
        &mut self,
        demand: &Demand,
        part: &EntryAllocation,
        (spare, dirty): (&mut [f64], &mut MarkedLinks),
    ) {
        for whole in demand.set().whole_words() {
            let mut less = *of_64(&self.own, whole.local);
            let own = part.used_by_64(whole.local);
            less.iter_mut().zip(&own).for_each(|(less, own)| *less -= own);
            let differ = bitmask(less.iter().map(|less| *less != 0.0));
            if differ == 0 {
                continue;
            }
            *of_64_mut(&mut self.own, whole.local) = own;
            let adds = of_64_mut(&mut self.adds, whole.local);
            adds.iter_mut().zip(&less).for_each(|(adds, less)| *adds -= less);
            let spare = of_64_mut(spare, whole.link);
            spare.iter_mut().zip(&less).for_each(|(spare, less)| *spare += less);
            self.stale[whole.word] |= differ;
            dirty.insert_all(whole.link / 64, differ);
        }
        for l in demand.set().others().iter() {
            self.set_own(demand, l, part.used(l), (spare, dirty));
        }
    }

    /// The coflow has been given `part`. Makes `spare` what it leaves at its links, and those dirty
    /// where it takes another amount than before. The bounds are `new` where none were kept.
    pub fn set(
        &mut self,
        part: &EntryAllocation,
        demand: &Demand,
        spare: &mut FreeCapacity,
        capacity: &[f64],
        new: bool,
    ) {
        let (links, mut stale) = (demand.links(), std::mem::take(&mut self.stale));
        match part.written().filter(|_| !new) {
            Some(written) => {
                let written = written.iter().map(|&l| (links[l as usize].index(), l as usize));
                let stale = demand.set().common_words(stale.iter().copied());
                for (link, l) in written.chain(stale) {
                    self.leave((link, l), part.left(l), spare, capacity);
                }
            }
            None => self.leave_all(demand, part.all_left(), spare, capacity),
        }
        stale.fill(0);
        self.stale = stale;
        let slack = part.slack();
        let told = part.level_changes().filter(|_| !new);
        let all = if told.is_none() { 0..links.len() } else { 0..0 };
        for l in told.into_iter().flatten().map(|&l| l as usize).chain(all) {
            self.slack[l] = slack(l, capacity[links[l].index()] * NEGLIGIBLE);
        }
    }
}
