//! Hosts: real agents, and flows on paper.

use std::collections::{BTreeMap, BTreeSet};

use covey_agent::{Agent, Progress};
use covey_coordinator::SessionId;
use covey_core::SplitMix;
use covey_proto::{Ended, FlowKey, FlowName, Sent};

use crate::jobs::{Job, flow_of};

/// Seconds from one look at a host to the next.
pub const STEP_S: f64 = 0.02;
/// Seconds after which no more faults happen.
pub const FAULTS_S: f64 = 8.0;

/// A host: its agent, and the flows it sends, as they are.
pub struct Host {
    pub port: u32,
    pub agent: Agent,
    /// The connection, if the agent has one, and whether the coordinator still has it.
    pub session: Option<SessionId>,
    pub rejoins_s: f64,
    pub partitioned_until_s: f64,
    pub sent: BTreeMap<FlowName, f64>,
    pub ended: BTreeMap<FlowName, f64>,
    /// Flows whose last bytes are on their way: the time at which they have come.
    pub written: BTreeMap<FlowName, f64>,
    /// Flows that its application has open, and until when it has none.
    pub open: BTreeSet<FlowName>,
    pub dead_until_s: f64,
    pub held: (u64, u64),
    /// Whether the coordinator has given it up, and it has not been sent anything since.
    pub given_up: bool,
}

impl Host {
    /// Sends for a step as the schedule says.
    pub fn advance(
        &mut self,
        jobs: &[Job],
        job_of: &BTreeMap<u64, usize>,
        now_s: f64,
        random: &mut SplitMix,
    ) -> Progress {
        let mut progress = Progress::default();
        self.open_some(jobs, now_s, random, &mut progress);
        for (&key, _) in self.written.iter().filter(|(_, come_s)| **come_s <= now_s) {
            let size = flow_of(jobs, job_of, &key).bytes.unwrap_or(0.0);
            progress.ended.push(Ended { key, bytes: size, wire: size });
            self.ended.insert(key, size);
        }
        for (key, service) in self.agent.flows() {
            // Its application may have opened it before it changed its coflow.
            let names = self.agent.names_here(&[*key]);
            let Some(key) = names.into_iter().find(|name| self.open.contains(name)) else {
                continue;
            };
            let size = flow_of(jobs, job_of, &key).bytes.unwrap_or(0.0);
            let sent = self.sent.entry(key).or_default();
            *sent += service.rate * STEP_S;
            if *sent < size {
                progress.sent.push(Sent { key, bytes: *sent, wire: *sent });
            } else if random.chance(0.5) {
                progress.ended.push(Ended { key, bytes: size, wire: size });
                self.ended.insert(key, size);
            } else {
                progress.written.push(key);
                if random.chance(0.8) {
                    self.written.insert(key, now_s + 0.1 * random.unit());
                } else {
                    // Its connection breaks: it is sent once more.
                    *sent = 0.0;
                }
            }
        }
        for ended in &progress.ended {
            self.sent.remove(&ended.key);
            self.written.remove(&ended.key);
            self.open.remove(&ended.key);
        }
        progress
    }

    /// Has the application open what it knows of; or it dies, and another does so later.
    pub fn open_some(
        &mut self,
        jobs: &[Job],
        now_s: f64,
        random: &mut SplitMix,
        progress: &mut Progress,
    ) {
        if now_s < FAULTS_S && random.chance(0.004) {
            progress.opened.extend(self.open.iter().map(|key| (*key, false)));
            self.open.clear();
            self.dead_until_s = now_s + 3.0 * random.unit();
        }
        if now_s < self.dead_until_s {
            return;
        }
        for (id, job) in jobs.iter().filter_map(|job| Some((job.id?, job))) {
            for (flow, _) in (0..).zip(&job.flows).filter(|(_, flow)| flow.src == self.port) {
                let key = FlowName::Key(FlowKey { coflow: id, flow });
                if !self.ended.contains_key(&key) && !self.open.contains(&key) && random.chance(0.1)
                {
                    self.open.insert(key);
                    progress.opened.push((key, true));
                }
            }
        }
    }
}
