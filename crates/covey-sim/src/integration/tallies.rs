//! Bytes that coflows have sent under classes: of those for which a policy waits.
//!
//! A *tally* counts what one coflow sends, in all or through one link. A flow counts at the service
//! of the link that limits it. Bytes are worked out from services when somebody asks, so a change
//! of a level costs nothing. Policies ask in each round when a tally will have reached a number of
//! bytes, and mostly it cannot before the next event: that is known from the bytes at some earlier
//! time and the capacity of links.

use std::cell::Cell;

use covey_core::state::State;
use covey_core::{CoflowId, LinkId, Time};

use super::integrator::FlowAt;
use super::readings::{Due, Pace, ROUNDING};
use super::services::{Reading, Services};

#[derive(Debug, Default)]
struct Tally {
    /// Bytes, but for what has passed at services since flows last began or ceased to count there.
    sent: f64,
    /// Flows that count, by limit, ascending.
    counted: Vec<Counted>,
    /// Bytes per second that the links allow.
    fastest: f64,
    /// What was known at some time before now.
    seen: Cell<Seen>,
}

/// Bytes sent up to a time.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    sent: f64,
    at: Time,
}

/// Flows that count at a service.
#[derive(Debug, Clone, Copy)]
struct Counted {
    limit: u32,
    flows: u32,
    /// Bytes of the service when that number of flows last changed.
    since: f64,
}

impl Tally {
    fn pace(&self, now: Time, services: &Services) -> Pace {
        let Pace { mut sent, mut rate } = Pace { sent: self.sent, rate: 0.0 };
        for it in &self.counted {
            let (limit, flows) = (it.limit as usize, f64::from(it.flows));
            sent += flows * (services.served(limit, now) - it.since);
            rate += flows * services.level(limit);
        }
        Pace { sent, rate }
    }

    /// A flow counts at the service of a limit from now on (`by = 1`), or not any more (`by = -1`).
    fn count(&mut self, at: Reading, by: i32) {
        let (limit, served) = (at.limit as u32, at.served);
        match self.counted.binary_search_by_key(&limit, |it| it.limit) {
            Err(k) => self.counted.insert(k, Counted { limit, flows: 1, since: served }),
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

/// A tally of a coflow.
#[derive(Debug, Clone, Copy)]
struct TallyOf {
    /// `None` if it counts all that the coflow sends.
    link: Option<LinkId>,
    number: u32,
}

/// All tallies.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    all: Vec<Tally>,
    vacant: Vec<u32>,
    /// By [`CoflowId`], by link; that of all links is the first.
    of_coflow: Vec<Vec<TallyOf>>,
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
        let k = tallies.binary_search_by_key(&link, |tally| tally.link).ok()?;
        Some(tallies[k].number)
    }

    /// Begins a tally at `sent` bytes, unless the coflow has this tally.
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
        let Err(k) = tallies.binary_search_by_key(&link, |tally| tally.link) else { return };
        if tallies.is_empty() {
            self.coflows += 1;
        }
        let capacity = |link: &LinkId| state.fabric().capacity()[link.index()];
        let demand = state.coflow(id).demand();
        let senders = || demand.links()[..demand.senders()].iter().map(capacity).sum();
        let fastest = link.as_ref().map_or_else(senders, capacity);
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.all.push(Tally::default());
            self.all.len() as u32 - 1
        });
        let tally = &mut self.all[number as usize];
        tally.counted.clear();
        tally.sent = sent;
        tally.fastest = fastest;
        tally.seen.set(Seen { sent, at: now });
        tallies.insert(k, TallyOf { link, number });
    }

    /// Whether there is a tally.
    pub fn has(&self, id: CoflowId, link: Option<LinkId>) -> bool {
        self.find(id, link).is_some()
    }

    /// A coflow has left; none of its flows counts anywhere.
    pub fn forget(&mut self, id: CoflowId) {
        let Some(tallies) = self.of_coflow.get_mut(id.index()) else { return };
        if !tallies.is_empty() {
            self.vacant.extend(tallies.drain(..).map(|tally| tally.number));
            self.coflows -= 1;
        }
    }

    /// A flow counts from now on at the service of a limit (`by = 1`), or not any more (`by = -1`).
    pub fn count(&mut self, state: &State, flow: FlowAt, at: Reading, by: i32) {
        let mut of_flow = std::mem::take(&mut self.of_flow);
        self.find_of(state, flow, &mut of_flow);
        for &tally in &of_flow {
            self.all[tally as usize].count(at, by);
        }
        self.of_flow = of_flow;
    }

    /// The same for one tally alone.
    pub fn count_one(&mut self, id: CoflowId, link: Option<LinkId>, at: Reading) {
        if let Some(tally) = self.find(id, link) {
            self.all[tally as usize].count(at, 1);
        }
    }

    /// A flow counts from now on at the second service, no more at the first.
    pub fn recount(&mut self, state: &State, flow: FlowAt, from: Reading, to: Reading) {
        let mut of_flow = std::mem::take(&mut self.of_flow);
        self.find_of(state, flow, &mut of_flow);
        for &tally in &of_flow {
            self.all[tally as usize].count(from, -1);
            self.all[tally as usize].count(to, 1);
        }
        self.of_flow = of_flow;
    }

    /// Makes `of_flow` the tallies in which a flow counts.
    fn find_of(&self, state: &State, flow: FlowAt, of_flow: &mut Vec<u32>) {
        of_flow.clear();
        let tallies = match self.of_coflow.get(flow.coflow.index()).map_or(&[][..], Vec::as_slice) {
            [] => return,
            // Most policies wait for all that a coflow sends: the path does not matter.
            [TallyOf { link: None, number }] => return of_flow.push(*number),
            tallies => tallies,
        };
        let demand = state.coflow(flow.coflow).demand();
        let links = demand.path(flow.place()).map(|l| Some(demand.links()[l]));
        for link in links.chain([None]) {
            if let Ok(k) = tallies.binary_search_by_key(&link, |tally| tally.link) {
                of_flow.push(tallies[k].number);
            }
        }
    }

    /// A coflow's bytes sent and its rate, and the bytes per second that its links allow; all zero
    /// if no tally counts the whole coflow.
    pub fn pace(&self, id: CoflowId, now: Time, services: &Services) -> (Pace, f64) {
        let Some(tally) = self.find(id, None) else { return (Pace::default(), 0.0) };
        let tally = &self.all[tally as usize];
        (tally.pace(now, services), tally.fastest)
    }

    /// When so many bytes will have been sent.
    pub fn when(
        &self,
        id: CoflowId,
        link: Option<LinkId>,
        bytes: f64,
        now: Time,
        horizon: Time,
        services: &Services,
    ) -> Due {
        let Some(tally) = self.find(id, link) else { return Due::NEVER };
        let tally = &self.all[tally as usize];
        let enough = bytes * (1.0 - ROUNDING);
        let earliest = || {
            let seen = tally.seen.get();
            seen.at + (enough - seen.sent).max(0.0) / tally.fastest
        };
        if earliest() > horizon {
            return Due { time: horizon, earliest: earliest() };
        }
        let pace = tally.pace(now, services);
        tally.seen.set(Seen { sent: pace.sent, at: now });
        if pace.has_sent(bytes) {
            return Due::at(now, now);
        }
        Due { time: pace.when(bytes, now), earliest: earliest() }
    }
}
