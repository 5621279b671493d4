//! Emulated hosts that run policies one after the other, for reproductions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use covey_reproduce::plan::TestbedNetwork;
use covey_testbed::{Found, Lab, Links, PAYLOAD, Replay, Scheduler, replay};
use covey_trace::Workload;

use super::replaying::{CODA, FoldedTrace, scheduler, watch_signals};
use crate::failure::Failure;
use crate::invocation;

/// Emulated hosts that run policies one after the other.
pub struct Emulated {
    lab: Lab,
    port_rate: f64,
    background_rate: f64,
    stop: Arc<AtomicBool>,
}

/// The time after which [`Emulated`] stops a policy.
const LIMIT_S: f64 = 3600.0;

impl Emulated {
    /// Starts hosts on links of `link` bytes per second.
    pub fn start(network: TestbedNetwork, link: f64) -> Result<Emulated, Failure> {
        if !Lab::may_isolate() {
            let what = "root, which may make the hosts' network namespaces";
            return Err(Failure::argument("--testbed", what, "another user"));
        }
        let stop = watch_signals()?;
        let TestbedNetwork { hosts, switch_queues, background } = network;
        let links =
            Links { hosts, link_bps: link * 8.0, queues: switch_queues, core: None, ecn: None };
        let lab = Lab::isolated(links, invocation::program())?;
        let port_rate = link * (1.0 - background) * PAYLOAD;
        Ok(Emulated { lab, port_rate, background_rate: link * background, stop })
    }

    /// Replays a workload that is folded to the hosts under a policy or
    /// [`TCP`](covey_reproduce::plan::TCP). Its bytes compress to `ratio` of their size.
    pub fn replay(
        &self,
        workload: &Workload,
        policy: &str,
        ratio: f64,
        progress: &dyn Fn(usize),
    ) -> Result<Found, Failure> {
        let trace = FoldedTrace::write(workload)?;
        let replayed = Replay {
            workload,
            trace: &trace.path,
            program: invocation::program(),
            scheduler: match scheduler(policy) {
                // CODA is for applications that know nothing of the scheduler.
                Scheduler::Policy(policy) if policy == CODA => {
                    Scheduler::Unmodified { policy, told: false }
                }
                other => other,
            },
            port_rate: self.port_rate,
            background_rate: self.background_rate,
            limit_s: LIMIT_S,
            ratio,
            // Each host counts as having a processor of its own if its flows are compressible.
            cpu: if ratio < 1.0 { "1" } else { "none" },
            faults: &[],
            stop: &self.stop,
        };
        Ok(replay(&self.lab, &replayed, progress)?)
    }
}
