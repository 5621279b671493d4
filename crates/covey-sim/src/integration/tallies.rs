//! Bytes that coflows have sent under classes: of those for which a policy waits.
//!
//! A *tally* counts what one coflow sends, in all or through one link. A flow counts at the service of the
//! link that limits it. Bytes are worked out from services when somebody asks, so a change of a level costs
//! nothing. Policies ask in each round when a tally will have reached a number of bytes, and mostly it cannot
//! before the next event: that is known from the bytes at some earlier time and the capacity of links.

use std::cell::Cell;

use covey_core::state::State;
use covey_core::{CoflowId, LinkId, Time};

use super::services::Services;

/// Stands for all links of a coflow. No link has this number.
const WHOLE: u32 = u32::MAX;

/// The part of a number of bytes by which a sum may miss it: less is rounding. Policies compare bytes with a
/// larger tolerance. Without this one, a flow that ends where a threshold is may leave the sum just below it for
/// good.
pub(super) const ROUNDING: f64 = 1e-10;

#[derive(Debug, Default)]
struct Tally {
    /// Bytes, but for what has passed at services since flows last began or ceased to count there.
    sent: f64,
    /// Flows that count, by service, ascending.
    counted: Vec<Counted>,
    /// Bytes per second that the links allow.
    fastest: f64,
    /// Bytes at some time before now.
    seen: Cell<(f64, Time)>,
}

/// Flows that count at a service.
#[derive(Debug, Clone, Copy)]
struct Counted {
    service: u32,
    flows: u32,
    /// Bytes of the service when that number of flows last changed.
    since: f64,
}

impl Tally {
    /// Bytes sent up to now, and bytes per second from now on.
    fn now(&self, now: Time, services: &Services) -> (f64, f64) {
        let (mut sent, mut rate) = (self.sent, 0.0);
        for it in &self.counted {
            let (limit, flows) = (it.service as usize, f64::from(it.flows));
            sent += flows * (services.served(limit, now) - it.since);
            rate += flows * services.level(limit);
        }
        (sent, rate)
    }

    /// A flow counts at a service, which has `served` so many bytes, from now on, or not any more.
    fn count(&mut self, (service, served): (usize, f64), by: i32) {
        let service = service as u32;
        match self.counted.binary_search_by_key(&service, |it| it.service) {
            Err(k) => self.counted.insert(k, Counted { service, flows: 1, since: served }),
            Ok(k) => {
                let it = &mut self.counted[k];
                self.sent += f64::from(it.flows) * (served - it.since);
                it.since = served;
                it.flows = it.flows.wrapping_add_signed(by);
                if it.flows == 0 {
                    self.counted.remove(k);
                }
            }
        }
    }
}

/// All tallies.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    all: Vec<Tally>,
    vacant: Vec<u32>,
    /// By [`CoflowId`]: the link of each tally, ascending, and its number.
    of_coflow: Vec<Vec<(u32, u32)>>,
    /// Number of coflows that have tallies.
    coflows: usize,
    /// Whether every coflow is to have a tally of all it sends.
    pub counts_all: bool,
    /// Working memory: tallies of one flow.
    of_flow: Vec<u32>,
}

impl Tallies {
    /// Forgets all tallies.
    pub fn clear(&mut self) {
        self.vacant.clear();
        self.vacant.extend((0..self.all.len() as u32).rev());
        self.of_coflow.iter_mut().for_each(Vec::clear);
        self.coflows = 0;
        self.counts_all = false;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.coflows == 0
    }

    fn find(&self, id: CoflowId, link: Option<LinkId>) -> Option<u32> {
        let tallies = self.of_coflow.get(id.index())?;
        let link = link.map_or(WHOLE, |link| link.0);
        let k = tallies.binary_search_by_key(&link, |&(link, _)| link).ok()?;
        Some(tallies[k].1)
    }

    /// Begins a tally, unless there is one, at which `sent` bytes are counted so far.
    pub fn begin(
        &mut self,
        state: &State,
        id: CoflowId,
        link: Option<LinkId>,
        sent: f64,
        now: Time,
    ) {
        if self.of_coflow.len() <= id.index() {
            self.of_coflow.resize_with(id.index() + 1, Vec::new);
        }
        let tallies = &mut self.of_coflow[id.index()];
        let number = link.map_or(WHOLE, |link| link.0);
        let Err(k) = tallies.binary_search_by_key(&number, |&(link, _)| link) else { return };
        if tallies.is_empty() {
            self.coflows += 1;
        }
        let capacity = |link: &LinkId| state.fabric().capacity()[link.index()];
        let demand = state.coflow(id).demand();
        let senders = || demand.links()[..demand.senders()].iter().map(capacity).sum();
        let fastest = link.as_ref().map_or_else(senders, capacity);
        let tally = self.vacant.pop().unwrap_or_else(|| {
            self.all.push(Tally::default());
            self.all.len() as u32 - 1
        });
        let it = &mut self.all[tally as usize];
        it.counted.clear();
        (it.sent, it.fastest, it.seen) = (sent, fastest, Cell::new((sent, now)));
        tallies.insert(k, (number, tally));
    }

    /// Whether there is a tally.
    pub fn has(&self, id: CoflowId, link: Option<LinkId>) -> bool {
        self.find(id, link).is_some()
    }

    /// A coflow has left; none of its flows counts anywhere.
    pub fn forget(&mut self, id: CoflowId) {
        let Some(tallies) = self.of_coflow.get_mut(id.index()) else { return };
        if !tallies.is_empty() {
            self.vacant.extend(tallies.drain(..).map(|(_, number)| number));
            self.coflows -= 1;
        }
    }

    /// A flow counts from now on at a service, which has served so many bytes (`by = 1`), or not any more
    /// (`by = -1`).
    pub fn count(
        &mut self,
        state: &State,
        (id, position): (CoflowId, u32),
        at: (usize, f64),
        by: i32,
    ) {
        let mut of_flow = std::mem::take(&mut self.of_flow);
        self.find_of(state, id, position, &mut of_flow);
        for &tally in &of_flow {
            self.all[tally as usize].count(at, by);
        }
        self.of_flow = of_flow;
    }

    /// The same for one tally alone.
    pub fn count_one(&mut self, id: CoflowId, link: Option<LinkId>, at: (usize, f64)) {
        if let Some(tally) = self.find(id, link) {
            self.all[tally as usize].count(at, 1);
        }
    }

    /// A flow counts from now on at the second service, no more at the first.
    pub fn recount(
        &mut self,
        state: &State,
        (id, position): (CoflowId, u32),
        (from, to): ((usize, f64), (usize, f64)),
    ) {
        let mut of_flow = std::mem::take(&mut self.of_flow);
        self.find_of(state, id, position, &mut of_flow);
        for &tally in &of_flow {
            self.all[tally as usize].count(from, -1);
            self.all[tally as usize].count(to, 1);
        }
        self.of_flow = of_flow;
    }

    /// Makes `of_flow` the tallies in which a flow counts.
    fn find_of(&self, state: &State, id: CoflowId, position: u32, of_flow: &mut Vec<u32>) {
        of_flow.clear();
        let tallies = match self.of_coflow.get(id.index()).map_or(&[][..], Vec::as_slice) {
            [] => return,
            // Most policies wait for all that a coflow sends: the path does not matter.
            [(WHOLE, tally)] => return of_flow.push(*tally),
            tallies => tallies,
        };
        let demand = state.coflow(id).demand();
        let links = demand.path(position as usize).map(|l| demand.links()[l].0);
        for link in links.chain([WHOLE]) {
            if let Ok(k) = tallies.binary_search_by_key(&link, |&(link, _)| link) {
                of_flow.push(tallies[k].1);
            }
        }
    }

    /// Bytes sent up to now, bytes per second from now on, and those that the links allow; nothing if there is no
    /// tally.
    pub fn sent(
        &self,
        id: CoflowId,
        link: Option<LinkId>,
        now: Time,
        services: &Services,
    ) -> (f64, f64, f64) {
        let Some(tally) = self.find(id, link) else { return (0.0, 0.0, 0.0) };
        let tally = &self.all[tally as usize];
        let (sent, rate) = tally.now(now, services);
        (sent, rate, tally.fastest)
    }

    /// The time at which so many bytes will have been sent, if rates stay, and a time before which they cannot have
    /// been sent. The first need not be exact if it is not earlier than `limit`.
    pub fn when(
        &self,
        (id, link): (CoflowId, Option<LinkId>),
        bytes: f64,
        (now, limit): (Time, Time),
        services: &Services,
    ) -> (Time, Time) {
        let Some(tally) = self.find(id, link) else { return (Time::NEVER, Time::NEVER) };
        let tally = &self.all[tally as usize];
        let enough = bytes - ROUNDING * bytes;
        let earliest = || {
            let (seen, at) = tally.seen.get();
            at + (enough - seen).max(0.0) / tally.fastest
        };
        if earliest() > limit {
            return (limit, earliest());
        }
        let (sent, rate) = tally.now(now, services);
        tally.seen.set((sent, now));
        if sent >= enough {
            (now, now)
        } else if rate > 0.0 {
            (now + (bytes - sent) / rate, earliest())
        } else {
            (Time::NEVER, earliest())
        }
    }
}
