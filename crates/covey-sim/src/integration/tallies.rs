//! Bytes that coflows have sent under classes: of those for which a policy waits.
//!
//! A *tally* counts what one coflow sends, in all or through one link. A flow counts at the service of the
//! link that limits it, so a change of a level costs a step for each tally there, not for each flow.

use covey_core::state::State;
use covey_core::{CoflowId, LinkId, Time};

/// Stands for all links of a coflow. No link has this number.
const WHOLE: u32 = u32::MAX;

/// The part of a number of bytes by which a sum may miss it: less is rounding. Policies compare bytes with a
/// larger tolerance. Without this one, a flow that ends where a threshold is may leave the sum just below it for
/// good.
const ROUNDING: f64 = 1e-10;

#[derive(Debug, Clone, Copy)]
struct Tally {
    /// Bytes up to `since`.
    sent: f64,
    since: Time,
    /// Bytes per second from `since` on.
    rate: f64,
    /// Flows that count in it.
    flows: u32,
}

impl Tally {
    fn advance(&mut self, now: Time) {
        self.sent += self.rate * (now - self.since);
        self.since = now;
    }

    fn change_rate(&mut self, by: f64) {
        // Without flows the rate is exactly 0, however often it has changed.
        self.rate = if self.flows == 0 { 0.0 } else { (self.rate + by).max(0.0) };
    }
}

/// A tally at a service, and how many flows count there.
#[derive(Debug, Clone, Copy)]
struct Counted {
    tally: u32,
    flows: u32,
}

/// All tallies.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    all: Vec<Tally>,
    vacant: Vec<u32>,
    /// By [`CoflowId`]: the link of each tally, ascending, and its number.
    of_coflow: Vec<Vec<(u32, u32)>>,
    /// The coflows that have tallies, in order of their first ones.
    coflows: Vec<CoflowId>,
    /// By service.
    at: Vec<Vec<Counted>>,
    /// Whether every coflow is to have a tally of all it sends.
    pub counts_all: bool,
    /// Working memory: tallies of one flow.
    of_flow: Vec<u32>,
}

impl Tallies {
    /// Forgets all tallies.
    pub fn clear(&mut self) {
        self.all.clear();
        self.vacant.clear();
        self.of_coflow.iter_mut().for_each(Vec::clear);
        self.coflows.clear();
        self.at.iter_mut().for_each(Vec::clear);
        self.counts_all = false;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.coflows.is_empty()
    }

    /// The coflows that have tallies.
    pub fn coflows(&self) -> &[CoflowId] {
        &self.coflows
    }

    /// Makes room for services.
    pub fn grow(&mut self, services: usize) {
        self.at.resize_with(services.max(self.at.len()), Vec::new);
    }

    fn find(&self, id: CoflowId, link: Option<LinkId>) -> Option<u32> {
        let tallies = self.of_coflow.get(id.index())?;
        let link = link.map_or(WHOLE, |link| link.0);
        let k = tallies.binary_search_by_key(&link, |&(link, _)| link).ok()?;
        Some(tallies[k].1)
    }

    /// Begins a tally, unless there is one. Returns whether it has begun.
    pub fn begin(&mut self, id: CoflowId, link: Option<LinkId>, sent: f64, now: Time) -> bool {
        if self.of_coflow.len() <= id.index() {
            self.of_coflow.resize_with(id.index() + 1, Vec::new);
        }
        let tallies = &mut self.of_coflow[id.index()];
        let link = link.map_or(WHOLE, |link| link.0);
        let Err(k) = tallies.binary_search_by_key(&link, |&(link, _)| link) else { return false };
        if tallies.is_empty() {
            self.coflows.push(id);
        }
        let new = Tally { sent, since: now, rate: 0.0, flows: 0 };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.all[number as usize] = new;
                number
            }
            None => {
                self.all.push(new);
                self.all.len() as u32 - 1
            }
        };
        tallies.insert(k, (link, number));
        true
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
            self.coflows.retain(|coflow| *coflow != id);
        }
    }

    /// A flow counts at a service with this level from now on (`by = 1`), or not any more (`by = -1`).
    pub fn count(
        &mut self,
        state: &State,
        (id, position): (CoflowId, u32),
        (service, level): (usize, f64),
        by: i32,
        now: Time,
    ) {
        let mut of_flow = std::mem::take(&mut self.of_flow);
        self.find_of(state, id, position, &mut of_flow);
        for &tally in &of_flow {
            self.count_in(tally, (service, level), by, now);
        }
        self.of_flow = of_flow;
    }

    /// The same for one tally alone.
    pub fn count_one(
        &mut self,
        (id, link): (CoflowId, Option<LinkId>),
        at: (usize, f64),
        now: Time,
    ) {
        if let Some(tally) = self.find(id, link) {
            self.count_in(tally, at, 1, now);
        }
    }

    /// Makes `of_flow` the tallies in which a flow counts.
    fn find_of(&self, state: &State, id: CoflowId, position: u32, of_flow: &mut Vec<u32>) {
        of_flow.clear();
        let Some(tallies) = self.of_coflow.get(id.index()).filter(|tallies| !tallies.is_empty())
        else {
            return;
        };
        let demand = state.coflow(id).demand();
        let links = demand.path(position as usize).map(|l| demand.links()[l].0);
        for link in links.chain([WHOLE]) {
            if let Ok(k) = tallies.binary_search_by_key(&link, |&(link, _)| link) {
                of_flow.push(tallies[k].1);
            }
        }
    }

    fn count_in(&mut self, tally: u32, (service, level): (usize, f64), by: i32, now: Time) {
        let it = &mut self.all[tally as usize];
        it.advance(now);
        it.flows = it.flows.wrapping_add_signed(by);
        it.change_rate(f64::from(by) * level);
        let here = &mut self.at[service];
        match here.iter().position(|counted| counted.tally == tally) {
            None => here.push(Counted { tally, flows: 1 }),
            Some(k) => {
                here[k].flows = here[k].flows.wrapping_add_signed(by);
                if here[k].flows == 0 {
                    here.swap_remove(k);
                }
            }
        }
    }

    /// The level of a service changes by so much.
    pub fn change_level(&mut self, service: usize, by: f64, now: Time) {
        for counted in &self.at[service] {
            let it = &mut self.all[counted.tally as usize];
            it.advance(now);
            it.change_rate(f64::from(counted.flows) * by);
        }
    }

    /// Bytes sent up to now, and bytes per second from now on; nothing if there is no tally.
    pub fn sent(&self, id: CoflowId, link: Option<LinkId>, now: Time) -> (f64, f64) {
        let tally = self.find(id, link).map(|tally| self.all[tally as usize]);
        tally.map_or((0.0, 0.0), |it| (it.sent + it.rate * (now - it.since), it.rate))
    }

    /// The time at which so many bytes will have been sent, if rates stay.
    pub fn when(&self, id: CoflowId, link: Option<LinkId>, bytes: f64) -> Time {
        let Some(tally) = self.find(id, link) else { return Time::NEVER };
        let Tally { sent, since, rate, .. } = self.all[tally as usize];
        let missing = bytes - sent;
        if missing <= ROUNDING * bytes {
            since
        } else if rate > 0.0 {
            since + missing / rate
        } else {
            Time::NEVER
        }
    }
}
