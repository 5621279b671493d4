//! Links that their own nodes divide ([`Layers::PerPort`](crate::Layers::PerPort)): ports, and switches
//! inside the fabric.
//!
//! First each coflow is served from its own shares of links, max-min or by the rule of its entry.
//! No two coflows meet there, so the order does not matter, and a flow gets what every link of its
//! path would give it. Then what is not used, because another link of a flow gives less, is offered to
//! all coflows in the order of the plan: each shares again what it had and what is spare by then.
//!
//! Nodes divide their links all the time, but few of them in one round. While the plan serves the
//! same coflows in the same order, shares are looked at only where they have changed, and so is what is
//! spare: a link is *dirty* if another amount is spare there than at the same point of the previous pass. Of
//! a coflow's links most stay clean, but seldom all of them. Its rates mostly stay. So a coflow is served
//! again only when what it leaves at a dirty link is out of the [`Bounds`] between which its rates stay.

use super::link_shares::LinkShares;
use super::pass::{Pass, Request};
use crate::alloc::error::PlanError;
use crate::alloc::free_capacity::{FreeCapacity, NEGLIGIBLE, open_links, usable_amount, usable_of};
use crate::alloc::kept::entry_allocation::EntryAllocation;
use crate::alloc::kept::target::{Which, checked};
use crate::bits::{bits, set_bit};
use crate::demand::Demand;
use crate::ids::{CoflowId, LinkId};
use crate::marked_links::MarkedLinks;
use crate::plan::{Entry, Group, Ranking, Rule};
use crate::simd::{bitmask, blend, of_64, of_64_mut};
use crate::state::State;

/// Shares of links by coflow, and working memory.
#[derive(Debug, Default)]
pub struct PerPort {
    /// The pass that last served per port, and its entries.
    pass: u64,
    entries: Vec<Entry>,
    shares: LinkShares,
    /// Whether a coflow has left since the last pass that served per port.
    is_stale: bool,
    /// By coflow.
    bounds: Vec<Bounds>,
    /// Memory of bounds that are not kept any more.
    pool: Vec<Bounds>,
    /// What no coflow uses of its own shares, by link.
    spare: Vec<f64>,
    /// Links at which this is another amount than on the previous pass, a bit each.
    dirty: MarkedLinks,
    /// The coflows with bounds that this pass has come to, in order.
    passed: Vec<CoflowId>,
    /// What the present coflow finds at its links, by local link, and by link of the fabric.
    offered: Vec<f64>,
    found: Vec<f64>,
}

/// What a coflow finds, takes and leaves at each of its links, and the amounts between which its rates
/// stay. All amounts are in bytes per second, by local link: with all links of the fabric, 2,000 coflows on a FatTree
/// with k = 48 take 1.2 GB.
///
/// Most links of a wide coflow change on each pass, so [whole words](crate::link_set::WholeWord) are gone through in
/// vector instructions.
#[derive(Debug, Default)]
struct Bounds {
    /// What is spare before the coflow.
    spare: Vec<f64>,
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
    knows_spare: bool,
}

impl Bounds {
    /// Whether bounds are kept. They are for a coflow that gets anything.
    fn are_kept(&self) -> bool {
        !self.spare.is_empty()
    }

    /// Unless bounds are kept, begins with those of a coflow that uses nothing, on a fabric of so many
    /// links.
    fn begin(&mut self, demand: &Demand, links: usize, pool: &mut Vec<Bounds>) {
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
    fn end(&mut self, pool: &mut Vec<Bounds>) {
        if self.are_kept() {
            pool.push(std::mem::take(self));
        }
    }

    /// What is spare at local link `l` behind the coflow if its rates stay.
    fn left(&self, l: usize) -> f64 {
        self.spare[l] + self.adds[l]
    }

    /// Takes over what is spare at dirty links, and makes `spare` what the coflow leaves there if its rates
    /// stay. Returns whether they do.
    fn pass(&mut self, demand: &Demand, spare: &mut FreeCapacity, capacity: &[f64]) -> bool {
        let FreeCapacity { amount, dirty, open } = spare;
        let mut stay = true;
        let set = demand.set();
        let mut whole = set.whole_words().iter().peekable();
        for (number, word) in set.words().iter().enumerate() {
            let at = word.at as usize;
            let here = word.bits & dirty.words()[at];
            let whole = whole.next_if(|whole| whole.word == number);
            if here == 0 {
                continue;
            }
            self.stale[number] |= here;
            if let Some(whole) = whole {
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
    fn find_all(&self, demand: &Demand, capacity: &[f64], found: &mut Vec<f64>) {
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
    fn offer_stale(
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
    fn set_own(
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
    fn set_all_own(
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
    fn set(
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
        for l in told.into_iter().flatten().map(|change| change.link as usize).chain(all) {
            self.slack[l] = slack(l, capacity[links[l].index()] * NEGLIGIBLE);
        }
    }
}

impl PerPort {
    /// The memory of a coflow no longer holds.
    pub fn forget(&mut self) {
        self.is_stale = true;
    }

    /// The plan, which is kept, divides these links in another way.
    pub fn links_divided(&mut self, links: &[LinkId]) {
        self.shares.note(links);
    }

    /// Serves all coflows as the nodes have divided their links.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        // After an error the next pass does not follow this one.
        let previous = std::mem::take(&mut self.pass);
        self.start(pass, state, ranking, previous + 1 == pass.coflows.pass)?;
        let mut any_changed = pass.is_from_scratch;
        for (_, entry) in ranking.entries.iter() {
            any_changed |= self.serve_shares(pass, state, entry)?;
        }
        if any_changed {
            self.offer_spare(&mut pass.free, state.fabric().capacity());
            for (_, entry) in ranking.entries.iter() {
                self.serve_again(pass, state, entry)?;
            }
        }
        self.is_stale = false;
        self.pass = pass.coflows.pass;
        Ok(())
    }

    /// Begins a pass, which `follows` the last one that served per port.
    fn start(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
        follows: bool,
    ) -> Result<(), PlanError> {
        let follows = follows && !self.is_stale;
        if !follows {
            self.shares.forget();
        }
        if pass.is_new_plan || !follows {
            self.shares.read_all(state, &ranking.link_shares)?;
        } else {
            self.shares.read_noted(state, &ranking.link_shares)?;
        }
        let capacity = state.fabric().capacity();
        let goes_on =
            follows && self.entries.iter().eq(ranking.entries.iter().map(|(_, entry)| entry));
        pass.is_from_scratch = !goes_on;
        if pass.is_from_scratch {
            self.entries.clear();
            self.entries.extend(ranking.entries.iter().map(|&(_, entry)| entry));
            for all in [&mut pass.free.amount, &mut self.spare] {
                all.clear();
                all.extend_from_slice(capacity);
            }
            self.dirty.start(capacity.len());
            self.dirty.fill();
        }
        pass.served.start();
        self.passed.clear();
        self.bounds.resize_with(state.slots().max(self.bounds.len()), Bounds::default);
        self.pool.reserve(self.bounds.len() - self.pool.len());
        self.found.resize(capacity.len(), 0.0);
        Ok(())
    }

    /// Offers what is spare to all coflows. `free` is that from here on.
    fn offer_spare(&mut self, free: &mut FreeCapacity, capacity: &[f64]) {
        std::mem::swap(&mut free.dirty, &mut self.dirty);
        self.dirty.clear();
        let FreeCapacity { amount, dirty, .. } = &mut *free;
        for link in dirty.iter() {
            amount[link] = self.spare[link].max(0.0);
        }
        free.refresh_open(capacity);
    }

    /// Serves a coflow from its own shares of links, if they or its flows have changed. Returns
    /// whether they have.
    fn serve_shares(
        &mut self,
        pass: &mut Pass,
        state: &State,
        entry: &Entry,
    ) -> Result<bool, PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartPerPort) };
        let demand = checked(state, entry.group)?.demand();
        let capacity = state.fabric().capacity();
        let number = pass.coflows.pass;
        let provisional = &mut pass.coflows[id].provisional;
        if provisional.confirmed_in == number {
            return Err(PlanError::Twice(id));
        }
        let touched = provisional.decided != Some((entry.group, entry.rule));
        let dirty = self.shares.dirty_of(id);
        if !touched && dirty.is_empty() && !pass.is_from_scratch {
            provisional.confirmed_in = number;
            return Ok(false);
        }
        for (k, word) in demand.set().words().iter().enumerate() {
            let here = dirty.get(k).copied().unwrap_or(0);
            let here = if pass.is_from_scratch { word.bits } else { here };
            pass.free.dirty.set_word(word.at as usize, here);
        }
        let free = &mut pass.free;
        for (link, l) in demand.set().common(free.dirty.words()) {
            free.amount[link] = capacity[link] * self.shares.of(id, l);
            set_bit(&mut free.open, link, free.amount[link] > capacity[link] * NEGLIGIBLE);
        }
        pass.serve_part(Request { state, id, which: Which::Provisional, entry })?;
        let provisional = &pass.coflows[id].provisional;
        let bounds = &mut self.bounds[id.index()];
        if pass.is_from_scratch {
            bounds.end(&mut self.pool);
        }
        if provisional.is_empty() && !bounds.are_kept() {
            return Ok(true);
        }
        bounds.begin(demand, capacity.len(), &mut self.pool);
        let PerPort { spare, dirty, .. } = self;
        match provisional.written().filter(|_| !pass.is_from_scratch) {
            Some(written) => {
                for l in written.iter().map(|&l| l as usize) {
                    bounds.set_own(demand, l, provisional.used(l), (spare, dirty));
                }
            }
            None => bounds.set_all_own(demand, provisional, (spare, dirty)),
        }
        Ok(true)
    }

    /// Serves a coflow from what it uses of its own shares and what is spare. Leaves in `pass.free` what
    /// is spare behind it, at dirty links.
    fn serve_again(
        &mut self,
        pass: &mut Pass,
        state: &State,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartPerPort) };
        let number = pass.coflows.pass;
        let allocation = &mut pass.coflows[id];
        let (main, provisional) = (&mut allocation.main, &allocation.provisional);
        main.confirmed_in = number;
        let touched = main.decided != Some((entry.group, entry.rule));
        let was_idle = main.idle.is();
        let demand = state.coflow(id).demand();
        let capacity = state.fabric().capacity();
        if was_idle && provisional.is_empty() {
            let FreeCapacity { dirty, open, .. } = &pass.free;
            let may_send = main.idle.see(demand, dirty.words(), open) || touched;
            if !may_send || !main.idle.can_send(demand, entry, &mut pass.search) {
                main.decided = Some((entry.group, entry.rule));
                self.bounds[id.index()].end(&mut self.pool);
                return Ok(());
            }
        }
        self.bounds[id.index()].begin(demand, capacity.len(), &mut self.pool);
        let is_new = !self.bounds[id.index()].knows_spare;
        if is_new && !pass.is_from_scratch {
            self.find_spare(state, id);
        }
        let bounds = &mut self.bounds[id.index()];
        bounds.knows_spare = true;
        let stay = bounds.pass(demand, &mut pass.free, capacity);
        if is_new || touched || was_idle || !stay {
            self.decide_again(pass, state, id, entry, is_new)?;
        }
        if self.bounds[id.index()].are_kept() {
            self.passed.push(id);
        }
        Ok(())
    }

    /// Finds what is spare before a coflow that has begun to get something.
    fn find_spare(&mut self, state: &State, id: CoflowId) {
        let demand = state.coflow(id).demand();
        let mut mine = std::mem::take(&mut self.bounds[id.index()]);
        for (mine, link) in mine.spare.iter_mut().zip(demand.links()) {
            *mine = self.spare[link.index()].max(0.0);
        }
        for &before in &self.passed {
            let (theirs, set) = (&self.bounds[before.index()], state.coflow(before).demand().set());
            for (link, l) in demand.set().shared(set) {
                mine.spare[l] = theirs.left(set.local(link));
            }
        }
        self.bounds[id.index()] = mine;
    }

    /// Serves a coflow from what it has found, and works out its bounds, which may be `new`.
    fn decide_again(
        &mut self,
        pass: &mut Pass,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        is_new: bool,
    ) -> Result<(), PlanError> {
        let PerPort { bounds, pool, found, offered, .. } = self;
        let bounds = &mut bounds[id.index()];
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let number = pass.coflows.pass;
        let allocation = &mut pass.coflows[id];
        let part = &mut allocation.main;
        let changes = &mut pass.scratch.changes;
        changes.start(demand.links().len());
        if is_new || !bounds.offer_stale(part, demand, entry, capacity) {
            bounds.find_all(demand, capacity, offered);
            if entry.rule == Rule::MaxMin {
                part.offer(offered);
            } else {
                demand
                    .links()
                    .iter()
                    .zip(offered)
                    .for_each(|(link, free)| found[link.index()] = *free);
                part.find(demand, None, found, capacity, changes);
            }
        }
        part.decided = None;
        part.idle.end();
        part.decided_in = number;
        if allocation.decide(Which::Main, coflow, entry, &mut pass.scratch, capacity)? {
            pass.coflows.report(id);
        }
        let may_idle = pass.coflows.may_idle(Which::Main, entry);
        let allocation = &mut pass.coflows[id];
        bounds.set(&allocation.main, demand, &mut pass.free, capacity, is_new);
        if allocation.main.is_empty() && may_idle {
            allocation.main.begin_idle(demand);
            if allocation.provisional.is_empty() {
                bounds.end(pool);
            }
        }
        Ok(())
    }
}
