//! The loop over cycles.

use covey_trace::Workload;
use covey_trace::results::Outcome;

use super::coflow::Job;
use super::parameters::{Order, Parameters};
use super::pilots::{self, PilotsAt};
use super::queues::Queues;
use super::record::{Estimate, Record};
use super::scale::{BIN_MS, CYCLE_MS};
use super::serving::Serving;
use super::slots::Slots;
use crate::error::EmulationError;

/// Returns the program's outcome for `workload`; times are in seconds.
///
/// # Errors
/// A coflow is not a plain shuffle, or has flows of less than a byte.
pub fn run(workload: &Workload, parameters: Parameters) -> Result<Outcome, EmulationError> {
    run_with_estimates(workload, parameters).map(|(outcome, _)| outcome)
}

/// Like [`run`], with the estimate of each coflow. Thin coflows have no estimate, and under order C
/// no coflow has one.
///
/// # Errors
/// See [`run`].
pub fn run_with_estimates(
    workload: &Workload,
    parameters: Parameters,
) -> Result<(Outcome, Vec<Option<Estimate>>), EmulationError> {
    let mut simulator = Simulator::load(workload, parameters)?;
    simulator.run();
    Ok((simulator.record.outcome(&simulator.jobs), simulator.record.estimates))
}

/// The program's state between two cycles.
struct Simulator {
    with: Parameters,
    /// The coflows, by index in the workload.
    jobs: Vec<Job>,
    queues: Queues,
    slots: Slots,
    pilots_at: PilotsAt,
    serving: Serving,
    record: Record,
    /// Milliseconds since the trace began; a multiple of [`CYCLE_MS`].
    now_ms: u64,
}

impl Simulator {
    /// The state before the first cycle: no coflow has been admitted.
    fn load(workload: &Workload, with: Parameters) -> Result<Self, EmulationError> {
        let ports = workload.ports as usize;
        let jobs: Vec<Job> =
            workload.coflows.iter().map(|c| Job::load(c, ports)).collect::<Result<_, _>>()?;
        Ok(Self {
            with,
            queues: Queues::new(with, jobs.len(), ports),
            slots: Slots::default(),
            pilots_at: [vec![0; ports], vec![0; ports]],
            serving: Serving::new(ports),
            record: Record::new(&jobs),
            now_ms: 0,
            jobs,
        })
    }

    /// Runs cycles until all coflows have ended. A cycle sends what is chosen at its beginning. At
    /// the beginning of a bin, all coflows that arrive during the bin are admitted.
    fn run(&mut self) {
        let mut by_arrival: Vec<usize> = (0..self.jobs.len()).collect();
        by_arrival.sort_by_key(|&c| self.jobs[c].arrival_ms);
        let mut arrivals = by_arrival.as_slice();
        let mut active = 0;
        loop {
            if self.now_ms.is_multiple_of(BIN_MS) {
                let until = self.now_ms + BIN_MS;
                let number = arrivals.partition_point(|&c| self.jobs[c].arrival_ms <= until);
                let (now, later) = arrivals.split_at(number);
                arrivals = later;
                active += now.len();
                self.admit(now);
            }
            if active == 0 {
                if arrivals.is_empty() {
                    return;
                }
                let idle_ms = BIN_MS - self.now_ms % BIN_MS;
                self.slots.pass(idle_ms / CYCLE_MS);
                self.now_ms += idle_ms;
                continue;
            }
            let busy = self.queues.main.iter().enumerate().filter(|(_, queue)| !queue.is_empty());
            let turn = self.slots.next(busy.map(|(q, _)| q));
            let (record, now_ms) = (&mut self.record, self.now_ms);
            let note = |c: usize, job: &Job| record.note_estimate(c, job, now_ms);
            if self.queues.update(&mut self.jobs, note) {
                self.serving.invalidate();
            }
            if self.serving.choose(turn, &self.jobs, &self.queues) {
                self.record.events += 1;
            }
            self.now_ms += CYCLE_MS;
            active -= self.send();
        }
    }

    /// Starts coflows. Pilots are chosen when all of them have started.
    fn admit(&mut self, coflows: &[usize]) {
        for &c in coflows {
            self.record.start_ms[c] = self.now_ms;
            self.queues.admit(c, &self.jobs);
            self.serving.invalidate();
        }
        if self.with.order != Order::C {
            for &c in coflows {
                pilots::choose(&mut self.jobs[c], &mut self.pilots_at, &self.with);
            }
        }
    }

    /// Sends for a cycle that ends now; returns the number of coflows that have ended.
    fn send(&mut self) -> usize {
        let mut ended = Vec::new();
        for &(c, flow) in &self.serving.served {
            let (lowered, end) = self.jobs[c].serve(flow);
            if lowered {
                self.queues.change_key(c);
            }
            if end {
                ended.push((c, flow));
            }
        }
        let mut coflows = 0;
        for (c, flow) in ended {
            coflows += usize::from(self.end_flow(c, flow));
            self.serving.invalidate();
        }
        coflows
    }

    /// Ends a flow; returns whether this ends its coflow.
    fn end_flow(&mut self, c: usize, flow: u32) -> bool {
        self.record.flow_end_ms[c][flow as usize] = self.now_ms;
        let ports = self.jobs[c].ports_of(flow);
        let ended = self.jobs[c].end_flow(flow);
        for side in [0, 1] {
            if ended[side] {
                self.queues.leave_port(&self.jobs, c, side, ports[side]);
            }
        }
        if self.jobs[c].open_flows == 0 {
            // If its last flow is a pilot, the ports count it for ever.
            self.record.end_ms[c] = self.now_ms;
            self.queues.remove(c);
            return true;
        }
        if !self.queues.is_main(c) && self.jobs[c].pilots.contains(&flow) {
            self.jobs[c].open_pilots -= 1;
            (0..2).for_each(|side| self.pilots_at[side][ports[side]] -= 1);
        }
        false
    }
}
