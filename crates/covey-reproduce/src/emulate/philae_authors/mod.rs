//! The simulator of Philae's authors ([coflowPhilae/simulator](https://github.com/coflowPhilae/simulator)),
//! in which the paper measured Philae.
//!
//! **Units.** A port carries 134,217 bytes a millisecond, a cycle is 8 ms, and a flow's bytes are
//! whole. Results here are in seconds of 1000 ms.
//!
//! **Time.** When the clock is a multiple of 10,240 ms, every coflow that arrives within the next
//! bin starts; its CCT counts from there. A flow gets both its ports for a cycle or nothing, and
//! ends at a cycle's end.
//!
//! **Queues.** Thin coflows, by contention, the least first; then pilots; then the main queue whose
//! turn it is; then the other main queues from the first. A coflow of the main queues is
//! in the queue that its key says now, at the end when it has just come. Inside a queue, by
//! position: for each free sender in the coflow's order the first free receiver.
//!
//! **Ties.** Ports are sorted by their active pilots with `<=` for the order, for which the C++
//! standard promises nothing; the common library reverses ports with equally many ([`Ties`]). A
//! pilot that is the last flow of its coflow stays counted at its ports for ever. Neither should
//! matter, but which flows are pilots does: on the public Facebook trace order D has a mean CCT of
//! 28.17 s as emulated here, which is what the authors' program prints; 28.25 s with ties by number
//! of port; and if pilots were not counted for ever, 27.01 s and 29.75 s.

mod bits;
mod coflow;
mod parameters;
mod pilots;
mod queues;
mod serving;
mod slots;

use covey_sim::{CoflowOutcome, Outcome};
use covey_trace::Workload;

use super::EmulationError;
use bits::Bits;
use coflow::Job;
use pilots::PilotsAt;
use slots::Slots;

pub use parameters::{Order, Parameters, Pilots, Ties};

/// Its name.
const NAME: &str = "the simulator of Philae's authors";
/// Bytes a millisecond of a port.
const CAPACITY: u64 = 134_217;
/// Bits per second of a port.
pub const CAPACITY_BPS: f64 = CAPACITY as f64 * 8e3;
/// Milliseconds in a cycle.
const CYCLE_MS: u64 = 8;
/// Bytes that a port carries in a cycle.
const CYCLE_BYTES: u64 = CAPACITY * CYCLE_MS;
/// Milliseconds between arrivals.
const BIN_MS: u64 = 10_240;
/// What the program learnt of a coflow from its pilots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// When the last of its pilots ended, in seconds after its start.
    pub after_s: f64,
    /// What the coflow had sent by then, in bytes.
    pub sent: f64,
    /// Estimated bytes of the coflow.
    pub size: f64,
}

/// What the program would find for `workload`; times are in seconds.
///
/// # Errors
/// When a coflow is no plain shuffle, or has flows of less than a byte.
pub fn run(workload: &Workload, parameters: Parameters) -> Result<Outcome, EmulationError> {
    run_with_estimates(workload, parameters).map(|(outcome, _)| outcome)
}

/// The same, with what was learnt of each coflow; none of thin ones and under order C.
///
/// # Errors
/// See [`run`].
pub fn run_with_estimates(
    workload: &Workload,
    parameters: Parameters,
) -> Result<(Outcome, Vec<Option<Estimate>>), EmulationError> {
    let mut simulator = Simulator::load(workload, parameters)?;
    simulator.run();
    Ok((simulator.outcome(), simulator.estimates))
}

/// Where a coflow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Thin,
    Pilots,
    Main(usize),
}

struct Simulator {
    with: Parameters,
    jobs: Vec<Job>,
    estimates: Vec<Option<Estimate>>,
    /// In order of arrival.
    arrivals: Vec<usize>,
    place: Vec<Place>,
    start_ms: Vec<u64>,
    end_ms: Vec<u64>,
    flow_end_ms: Vec<Vec<u64>>,
    thin: Vec<usize>,
    piloted: Vec<usize>,
    main: Vec<Vec<usize>>,
    slots: Slots,
    /// Coflows with flows at each sending and each receiving port.
    coflows_at: [Vec<i64>; 2],
    pilots_at: PilotsAt,
    /// Whether the key of each coflow may have changed.
    moved_key: Vec<bool>,
    /// Whether contention among thin coflows may have changed.
    thin_changed: bool,
    now_ms: u64,
    /// The flows served, coflow by coflow, ...
    served: Vec<(usize, u32)>,
    /// ... so long as it is the turn of this queue and nothing has changed.
    served_in: Option<Option<usize>>,
    free: [Bits; 2],
    /// Senders and receivers of a coflow that are free, by place.
    local: [Bits; 2],
    events: u64,
}

impl Simulator {
    fn load(workload: &Workload, with: Parameters) -> Result<Self, EmulationError> {
        let ports = workload.ports as usize;
        let jobs: Vec<Job> =
            workload.coflows.iter().map(|c| Job::load(c, ports)).collect::<Result<_, _>>()?;
        let mut arrivals: Vec<usize> = (0..jobs.len()).collect();
        arrivals.sort_by_key(|&c| jobs[c].arrival_ms);
        Ok(Self {
            with,
            estimates: vec![None; jobs.len()],
            arrivals,
            place: vec![Place::Thin; jobs.len()],
            start_ms: vec![0; jobs.len()],
            end_ms: vec![0; jobs.len()],
            flow_end_ms: jobs.iter().map(|job| vec![0; job.width()]).collect(),
            thin: Vec::new(),
            piloted: Vec::new(),
            main: vec![Vec::new(); with.queues],
            slots: Slots::default(),
            coflows_at: [vec![0; ports], vec![0; ports]],
            pilots_at: [vec![0; ports], vec![0; ports]],
            moved_key: vec![false; jobs.len()],
            thin_changed: false,
            now_ms: 0,
            served: Vec::new(),
            served_in: None,
            free: [Bits::none(ports), Bits::none(ports)],
            local: [Bits::none(ports), Bits::none(ports)],
            events: 0,
            jobs,
        })
    }

    fn run(&mut self) {
        let arrivals = std::mem::take(&mut self.arrivals);
        let mut arrivals = arrivals.as_slice();
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
            let busy = self.main.iter().enumerate().filter(|(_, queue)| !queue.is_empty());
            let turn = self.slots.next(busy.map(|(q, _)| q));
            self.update_queues();
            if self.served_in != Some(turn) {
                self.serve(turn);
                self.served_in = Some(turn);
                self.events += 1;
            }
            self.now_ms += CYCLE_MS;
            active -= self.send();
        }
    }

    /// Starts coflows; pilots are chosen when all have started.
    fn admit(&mut self, coflows: &[usize]) {
        for &c in coflows {
            self.start_ms[c] = self.now_ms;
            self.place[c] = match (self.with.order, self.jobs[c].is_thin(&self.with)) {
                (Order::C, _) => Place::Main(0),
                (_, true) => Place::Thin,
                (_, false) => Place::Pilots,
            };
            self.queue(self.place[c]).push(c);
            for side in [0, 1] {
                for at in 0..self.jobs[c].tasks[side].len() {
                    self.count_coflow(side, self.jobs[c].tasks[side][at].port, 1);
                }
            }
            self.thin_changed |= self.place[c] == Place::Thin;
            self.served_in = None;
        }
        if self.with.order != Order::C {
            for &c in coflows {
                pilots::choose(&mut self.jobs[c], &mut self.pilots_at, &self.with);
            }
        }
    }

    fn outcome(&self) -> Outcome {
        let seconds = |ms: u64| ms as f64 / 1e3;
        let mut outcome = Outcome { events: self.events, ..Outcome::default() };
        for (c, job) in self.jobs.iter().enumerate() {
            let release_s = seconds(self.start_ms[c]);
            let completion_s = seconds(self.end_ms[c]);
            outcome.coflows.push(CoflowOutcome { release_s, completion_s });
            for &flow in &job.flow_of {
                let end_ms = self.flow_end_ms[c][flow as usize];
                outcome.flow_completion_s.push(seconds(end_ms));
                outcome.flow_start_s.push(release_s);
            }
        }
        outcome
    }
}
