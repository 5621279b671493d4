//! A slow and obvious world for tests: a fluid in which classes share max-min by progressive
//! filling.

use covey_core::lineage::{Lineage, Lineages};
use covey_core::state::{FlowSpec, Registration, State};
use covey_core::{
    CoflowId, Event, Fabric, FlowId, Group, LinkId, NonClairvoyant, Plan, Policy, PortId, Time,
    View, Wake,
};
use covey_stream::Setup;

use super::network::Network;

/// A coflow of a test: when it arrives, its flows as (source, destination, bytes), and the coflows
/// on which it depends. It waits until these have ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub arrival_s: f64,
    pub flows: Vec<(u32, u32, f64)>,
    pub parents: Vec<usize>,
}

impl Job {
    pub fn new(arrival_s: f64, flows: &[(u32, u32, f64)]) -> Job {
        Job { arrival_s, flows: flows.to_vec(), parents: Vec::new() }
    }

    pub fn after(self, parents: &[usize]) -> Job {
        Job { parents: parents.to_vec(), ..self }
    }
}

/// What has happened.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Time, coflow, receiving port and the class in which it is from then on.
    pub classes: Vec<(f64, usize, u32, u32)>,
    /// When each coflow has ended.
    pub ends_s: Vec<f64>,
    /// The longest time for which any flow got nothing.
    pub longest_wait_s: f64,
    pub rounds: usize,
}

impl History {
    /// The classes of a sub-coflow, each with the time from which it was in it, to the microsecond.
    pub fn of(&self, coflow: usize, port: u32) -> Vec<(f64, u32)> {
        let all = self.classes.iter().filter(|change| (change.1, change.2) == (coflow, port));
        all.map(|change| ((change.0 * 1e6).round() / 1e6, change.3)).collect()
    }
}

struct World<'a> {
    jobs: &'a [Job],
    ids: Vec<Option<CoflowId>>,
    lineages: Vec<Lineage>,
    state: State,
    network: Network,
    plan: Plan<NonClairvoyant>,
    now: Time,
    /// The rate of each flow of each job, and since when it has got nothing.
    rates: Vec<Vec<f64>>,
    waits_since: Vec<Vec<Time>>,
    history: History,
}

/// Runs coflows over `ports` ports of one byte per second.
pub(super) fn run(ports: u32, jobs: &[Job], setup: Setup) -> History {
    let mut ids = Lineages::default();
    let mut lineages: Vec<Lineage> = Vec::new();
    for job in jobs {
        let parents: Vec<Lineage> = job.parents.iter().map(|&parent| lineages[parent]).collect();
        lineages.push(ids.register(parents));
    }
    let mut world = World {
        jobs,
        ids: vec![None; jobs.len()],
        lineages,
        state: State::new(Fabric::big_switch(ports, 1.0).unwrap()),
        network: Network::new(setup),
        plan: Plan::default(),
        now: Time::ZERO,
        rates: jobs.iter().map(|job| vec![0.0; job.flows.len()]).collect(),
        waits_since: jobs.iter().map(|job| vec![Time::NEVER; job.flows.len()]).collect(),
        history: History { ends_s: vec![f64::NAN; jobs.len()], ..History::default() },
    };
    while world.history.ends_s.iter().any(|end| end.is_nan()) {
        world.round();
        world.history.rounds += 1;
        assert!(world.history.rounds < 200_000, "no end at {}", world.now);
    }
    world.history
}

impl World<'_> {
    fn tell(&mut self, event: Event) {
        self.network.event(event, &View::new(&self.state, self.now));
    }

    /// The flows of a job that is present, with their places among its flows.
    fn flows_of(&self, job: usize) -> Vec<(FlowId, usize)> {
        let coflow = self.ids[job].filter(|_| self.history.ends_s[job].is_nan());
        let all = 0..self.jobs[job].flows.len();
        coflow.map_or_else(Vec::new, |coflow| {
            all.map(|k| (FlowId { coflow, index: k as u32 }, k)).collect()
        })
    }

    /// Those of them that have not ended.
    fn active(&self, job: usize) -> Vec<(FlowId, usize)> {
        let mut flows = self.flows_of(job);
        flows.retain(|(flow, _)| self.is_active(*flow));
        flows
    }

    fn left(&self, flow: FlowId) -> f64 {
        let coflow = self.state.coflow(flow.coflow);
        let position = coflow.demand().position(flow.index);
        if coflow.demand().is_active(position) { coflow.left(position) } else { 0.0 }
    }

    fn is_active(&self, flow: FlowId) -> bool {
        let demand = self.state.coflow(flow.coflow).demand();
        demand.is_active(demand.position(flow.index))
    }

    /// What has passed of a wake-up's bytes, and how fast they pass.
    fn passed(&self, wake: Wake) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for (job, lineage) in self.lineages.iter().enumerate() {
            let has_ended = !self.history.ends_s[job].is_nan();
            for (k, &(_, dst, bytes)) in self.jobs[job].flows.iter().enumerate() {
                let counts = match wake {
                    Wake::WhenDagSent(external, _) => lineage.external == external,
                    Wake::WhenPassed(id, link, _) => {
                        let here = self.state.fabric().ingress(PortId(dst)) == link;
                        self.ids[job] == Some(id) && !has_ended && here
                    }
                    other => panic!("no test has {other:?}"),
                };
                let Some(coflow) = self.ids[job].filter(|_| counts) else { continue };
                let flow = FlowId { coflow, index: k as u32 };
                let left = if has_ended { 0.0 } else { self.left(flow) };
                sum.0 += bytes - left;
                sum.1 += if has_ended { 0.0 } else { self.rates[job][k] };
            }
        }
        sum
    }

    fn round(&mut self) {
        for job in 0..self.jobs.len() {
            for (flow, _) in self.flows_of(job) {
                if self.is_active(flow) && self.left(flow) <= 1e-9 {
                    let position = self.state.coflow(flow.coflow).demand().position(flow.index);
                    self.state.finish(flow.coflow, position, |_| ());
                    self.tell(Event::FlowEnded(flow));
                }
            }
            let over = self.ids[job].filter(|&id| self.state.coflow(id).is_over());
            if let Some(id) = over.filter(|_| self.history.ends_s[job].is_nan()) {
                self.state.retire(id);
                self.history.ends_s[job] = self.now.as_secs();
                self.tell(Event::CoflowEnded(id));
                self.state.release(id);
            }
        }
        for job in 0..self.jobs.len() {
            let Job { arrival_s, flows, parents } = &self.jobs[job];
            let free = parents.iter().all(|&parent| !self.history.ends_s[parent].is_nan());
            if self.ids[job].is_none() && free && Time::from_secs(*arrival_s).due(self.now) {
                let dag = Wake::WhenDagSent(self.lineages[job].external, 0.0);
                let registration = Registration {
                    seq: job as u64,
                    arrival: self.now,
                    lineage: self.lineages[job],
                    inherited_bytes: self.passed(dag).0,
                    ..Registration::default()
                };
                let specs = flows.iter().map(|&(src, dst, bytes)| FlowSpec {
                    src: PortId(src),
                    dst: PortId(dst),
                    bytes,
                });
                let id = self.state.register(registration, specs);
                self.state.set_parents(id, parents.iter().map(|&parent| parent as u64));
                self.ids[job] = Some(id);
                for (flow, k) in self.flows_of(job) {
                    self.state.start(flow);
                    self.waits_since[job][k] = self.now;
                }
                self.tell(Event::CoflowArrived(id));
            }
        }
        for wake in self.plan.wakes().all() {
            let due = match wake {
                Wake::At(time) => time.due(self.now),
                _ => self.passed(wake).0 >= wake.bytes().unwrap() - 1e-9,
            };
            if due {
                assert!(self.plan.wakes_mut().take(wake));
                self.tell(wake.into());
            }
        }
        self.network.plan(&View::new(&self.state, self.now), &mut self.plan);
        self.note_classes();
        self.share();
        self.advance();
    }

    fn note_classes(&mut self) {
        for (_, entry) in self.plan.ranking().entries.iter() {
            let Group::CoflowAt(id, link) = entry.group else { panic!("only sub-coflows") };
            let is_meant =
                |job: &usize| self.ids[*job] == Some(id) && self.history.ends_s[*job].is_nan();
            let job = (0..self.jobs.len()).find(is_meant).expect("only coflows that are present");
            let port = self.state.fabric().port_of(link).unwrap().0;
            let mut changes = self.history.classes.iter().rev();
            let last = changes.find(|change| (change.1, change.2) == (job, port));
            if last.is_none_or(|change| change.3 != entry.layer) {
                self.history.classes.push((self.now.as_secs(), job, port, entry.layer));
            }
        }
    }

    /// Progressive filling, class by class.
    fn share(&mut self) {
        let mut free = self.state.fabric().capacity().to_vec();
        self.rates.iter_mut().flatten().for_each(|rate| *rate = 0.0);
        let layers = self.plan.ranking().weights.len() as u32;
        for layer in 0..layers {
            let mut flows: Vec<(usize, usize, [LinkId; 2])> = Vec::new();
            for job in 0..self.jobs.len() {
                for (flow, k) in self.active(job) {
                    let (from, to) = View::<NonClairvoyant>::new(&self.state, self.now).ends(flow);
                    let group = Group::CoflowAt(flow.coflow, to);
                    let mut entries = self.plan.ranking().entries.iter();
                    let entry = entries.find(|(_, entry)| entry.group == group);
                    if entry.is_some_and(|(_, entry)| entry.layer == layer) {
                        flows.push((job, k, [from, to]));
                    }
                }
            }
            while !flows.is_empty() {
                let at = |link: &LinkId| {
                    let here = flows.iter().filter(|(_, _, path)| path.contains(link)).count();
                    free[link.index()] / here as f64
                };
                let links = flows.iter().flat_map(|(_, _, path)| path);
                let full = *links.min_by(|a, b| at(a).total_cmp(&at(b))).unwrap();
                let level = at(&full).max(0.0);
                flows.retain(|(job, k, path)| {
                    let stays = !path.contains(&full);
                    if !stays {
                        self.rates[*job][*k] = level;
                        path.iter().for_each(|link| free[link.index()] -= level);
                    }
                    stays
                });
            }
        }
    }

    /// When the next thing happens.
    fn next(&self) -> Time {
        let arrivals = self.jobs.iter().map(|job| Time::from_secs(job.arrival_s));
        let mut next = arrivals.filter(|time| !time.due(self.now)).min().unwrap_or(Time::NEVER);
        for job in 0..self.jobs.len() {
            for (flow, k) in self.active(job) {
                if self.rates[job][k] > 1e-12 {
                    next = next.min(self.now + self.left(flow) / self.rates[job][k]);
                }
            }
        }
        for wake in self.plan.wakes().all() {
            next = next.min(match wake {
                Wake::At(time) => time,
                _ => {
                    let (passed, rate) = self.passed(wake);
                    let missing = wake.bytes().unwrap() - passed;
                    if missing <= 1e-9 { self.now } else { self.now + missing / rate }
                }
            });
        }
        next.max(self.now)
    }

    fn advance(&mut self) {
        let next = self.next();
        if self.history.ends_s.iter().all(|end| !end.is_nan()) {
            return;
        }
        assert!(next.comes(), "nothing happens after {}", self.now);
        let dt = next - self.now;
        for job in 0..self.jobs.len() {
            for (flow, k) in self.active(job) {
                let since = &mut self.waits_since[job][k];
                if self.rates[job][k] > 1e-12 {
                    *since = Time::NEVER;
                } else {
                    *since = (*since).min(self.now);
                    let wait_s = &mut self.history.longest_wait_s;
                    *wait_s = wait_s.max(next - *since);
                }
                let (demand, progress) = self.state.progress_mut(flow.coflow);
                let position = demand.position(flow.index);
                progress.left[position] -= self.rates[job][k] * dt / progress.scale;
            }
        }
        self.now = next;
    }
}
