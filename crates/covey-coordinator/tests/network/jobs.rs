//! What clients register, and how they change it.

use std::collections::BTreeMap;

use covey_api::{CoflowSpec, Flow, Move, Update};
use covey_coordinator::{Request, RequestId};
use covey_core::SplitMix;
use covey_proto::FlowName;

/// A client's coflow.
pub struct Job {
    pub spec: CoflowSpec,
    /// Its flows with their sizes, as their hosts know them; those that its change adds included.
    pub flows: Vec<Flow>,
    pub at_s: f64,
    /// When to ask (again); never once answered.
    pub asks_s: f64,
    pub id: Option<u64>,
    /// The ids of the flows that it was registered with.
    pub flow_ids: Vec<u64>,
    pub change: Option<(f64, Request)>,
}

/// The clients, each with a coflow.
#[derive(Default)]
pub struct Clients {
    pub jobs: Vec<Job>,
    /// Requests without an answer, and the jobs that they are about.
    pub requests: BTreeMap<RequestId, usize>,
    requested: RequestId,
    /// The job of each coflow, by the coordinator's id.
    pub job_of: BTreeMap<u64, usize>,
}

impl Clients {
    pub fn with(jobs: Vec<Job>) -> Clients {
        Clients { jobs, ..Clients::default() }
    }

    /// The ids of the flows of all jobs but one.
    pub fn flows_of_others(&self, job: usize) -> Vec<u64> {
        let others = self.jobs.iter().enumerate().filter(|(k, _)| *k != job);
        others.flat_map(|(_, other)| other.flow_ids.iter().copied()).collect()
    }

    /// The id of a new request about a job.
    pub fn request(&mut self, job: usize) -> RequestId {
        self.requested += 1;
        self.requests.insert(self.requested, job);
        self.requested
    }
}

/// A flow as its hosts know it.
pub fn flow_of(jobs: &[Job], job_of: &BTreeMap<u64, usize>, name: &FlowName) -> Flow {
    let key = name.key().expect("a name by coflow and index");
    jobs[job_of[&key.coflow]].flows[key.flow as usize]
}

pub fn flow(random: &mut SplitMix, ports: u32) -> Flow {
    let port = |random: &mut SplitMix| random.below(ports.into()) as u32;
    let (src, dst) = (port(random), port(random));
    let bytes = if random.chance(0.05) { 0.0 } else { 0.05 + 0.8 * random.unit() };
    Flow::new(src, dst, Some(bytes))
}

pub fn job(random: &mut SplitMix, ports: u32) -> Job {
    let flows: Vec<Flow> = (0..1 + random.below(8)).map(|_| flow(random, ports)).collect();
    let spec = CoflowSpec::of(flows.clone());
    let at_s = 6.0 * random.unit();
    Job { spec, flows, at_s, asks_s: 0.0, id: None, flow_ids: Vec::new(), change: None }
}

/// What a client asks for some time after it has registered its coflow, if anything. `others` are
/// the ids of flows of other coflows.
pub fn change(
    random: &mut SplitMix,
    job: &mut Job,
    id: u64,
    ports: u32,
    others: &[u64],
) -> Option<Request> {
    let named = random.below(job.spec.flows.len() as u64) as u32;
    let new = flow(random, ports);
    let update = match random.below(8) {
        0 => Update { add: vec![new], ..Update::default() },
        1 => {
            // A flow that is moved starts again, with the same size.
            let new = Flow { bytes: job.flows[named as usize].bytes, ..new };
            Update { moved: vec![Move { flow: named, to: new }], ..Update::default() }
        }
        2 => Update { restart: vec![named], ..Update::default() },
        3 => return Some(Request::Remove { id }),
        4 if !others.is_empty() => {
            let taken = others[random.below(others.len() as u64) as usize];
            Update { take: vec![taken], ..Update::default() }
        }
        5 => Update { cancel: vec![named], ..Update::default() },
        6 => {
            // Another attempt, from another host.
            let bytes = job.flows[named as usize].bytes;
            let copy = Flow { attempt: Some(named), bytes, ..new };
            Update { add: vec![copy], ..Update::default() }
        }
        _ => return None,
    };
    job.flows.extend(update.add.iter().chain(update.moved.iter().map(|moved| &moved.to)));
    // Asked for again after a crash, it must not be done twice.
    Some(Request::Update { id, update, revision: Some(0) })
}
