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
mod pilots;
mod slots;

use covey_sim::{CoflowOutcome, Outcome};
use covey_trace::Workload;

use super::EmulationError;
use bits::Bits;
use coflow::Job;
use pilots::PilotsAt;
use slots::Slots;

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
/// Width of the widest thin coflow.
const THIN: usize = 7;
/// Pilots a sender.
const PILOT_SHARE: f32 = 0.05;
/// Number of main queues.
const QUEUES: usize = 10;
/// Below which key a coflow is in the first of them, ...
const FIRST_LIMIT: i64 = 10 * 1_048_576;
/// ... and how many times larger it may be in the next.
const FACTOR: i64 = 10;

/// What the key of a coflow is, after the paper's Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Estimated size.
    A,
    /// Estimated size less what has been sent.
    B,
    /// Contention, in which the queues are of no use: FIFO, and no pilots.
    C,
    /// Estimated length times the number of coflows at a port, added up over ports. The program
    /// takes away the least that was ever recorded as sent by a flow of the port, which is about
    /// what a cycle carries.
    D,
}

impl Order {
    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }
}

/// In which order ports come that have equally many pilots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// Reversed at each sort, as the stable sort of libstdc++ does with `<=`.
    Reversed,
    /// By number of port.
    ByPort,
}

impl Ties {
    /// Its name as a parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reversed => "reversed",
            Self::ByPort => "by-port",
        }
    }
}

/// What the program would find for `workload`; times are in seconds.
///
/// # Errors
/// When a coflow is no plain shuffle, or has flows of less than a byte.
pub fn run(workload: &Workload, order: Order, ties: Ties) -> Result<Outcome, EmulationError> {
    let mut simulator = Simulator::load(workload, order, ties)?;
    simulator.run();
    Ok(simulator.outcome())
}

/// Where a coflow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Thin,
    Pilots,
    Main(usize),
}

struct Simulator {
    order: Order,
    ties: Ties,
    jobs: Vec<Job>,
    /// In order of arrival.
    arrivals: Vec<usize>,
    place: Vec<Place>,
    start_ms: Vec<u64>,
    end_ms: Vec<u64>,
    flow_end_ms: Vec<Vec<u64>>,
    thin: Vec<usize>,
    piloted: Vec<usize>,
    main: [Vec<usize>; QUEUES],
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
    fn load(workload: &Workload, order: Order, ties: Ties) -> Result<Self, EmulationError> {
        let ports = workload.ports as usize;
        let jobs: Vec<Job> =
            workload.coflows.iter().map(|c| Job::load(c, ports)).collect::<Result<_, _>>()?;
        let mut arrivals: Vec<usize> = (0..jobs.len()).collect();
        arrivals.sort_by_key(|&c| jobs[c].arrival_ms);
        Ok(Self {
            order,
            ties,
            arrivals,
            place: vec![Place::Thin; jobs.len()],
            start_ms: vec![0; jobs.len()],
            end_ms: vec![0; jobs.len()],
            flow_end_ms: jobs.iter().map(|job| vec![0; job.width()]).collect(),
            thin: Vec::new(),
            piloted: Vec::new(),
            main: Default::default(),
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
            self.place[c] = match (self.order, self.jobs[c].is_thin()) {
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
        if self.order != Order::C {
            for &c in coflows {
                pilots::choose(&mut self.jobs[c], &mut self.pilots_at, self.ties);
            }
        }
    }

    fn queue(&mut self, place: Place) -> &mut Vec<usize> {
        match place {
            Place::Thin => &mut self.thin,
            Place::Pilots => &mut self.piloted,
            Place::Main(q) => &mut self.main[q],
        }
    }

    /// A coflow more or less at a port: keys of coflows there change.
    fn count_coflow(&mut self, side: usize, port: usize, change: i64) {
        self.coflows_at[side][port] += change;
        if self.order == Order::D {
            for &c in self.main.iter().flatten() {
                self.moved_key[c] |= self.jobs[c].ports[side].contains(port);
            }
        }
    }

    /// The main queue in which a coflow should be.
    fn queue_of(&self, c: usize) -> usize {
        let job = &self.jobs[c];
        let (estimate, size) = (job.estimate as i64, (job.width() as u64 * job.estimate) as i64);
        let key = match self.order {
            Order::A => size,
            Order::B if size >= job.sent as i64 => size - job.sent as i64,
            Order::B => 1,
            Order::C => return 0,
            Order::D => {
                let tasks = |side: usize| job.tasks[side].iter().zip(std::iter::repeat(side));
                let open = tasks(0).chain(tasks(1)).filter(|(task, _)| task.open > 0);
                open.map(|(task, side)| {
                    (estimate - task.least).max(1) * self.coflows_at[side][task.port]
                })
                .sum()
            }
        };
        let limits = std::iter::successors(Some(FIRST_LIMIT), |limit| Some(limit * FACTOR));
        limits.take(QUEUES - 1).filter(|limit| *limit <= key).count()
    }

    /// Moves a coflow to the end of the main queue where it should be.
    fn move_to(&mut self, c: usize, queue: usize) {
        let from = self.place[c];
        self.queue(from).retain(|&other| other != c);
        self.place[c] = Place::Main(queue);
        self.main[queue].push(c);
        self.served_in = None;
    }

    fn update_queues(&mut self) {
        let jobs = &self.jobs;
        let estimated = self.piloted.iter().filter(|&&c| jobs[c].open_pilots == 0);
        for c in estimated.copied().collect::<Vec<_>>() {
            self.jobs[c].estimate();
            self.move_to(c, self.queue_of(c));
        }
        let mut moves = Vec::new();
        for (q, queue) in self.main.iter().enumerate() {
            for &c in queue.iter().filter(|&&c| self.order == Order::B || self.moved_key[c]) {
                let target = self.queue_of(c);
                if target != q {
                    moves.push((c, target));
                }
            }
        }
        self.main.iter().flatten().for_each(|&c| self.moved_key[c] = false);
        moves.into_iter().for_each(|(c, queue)| self.move_to(c, queue));
        if self.thin_changed {
            self.thin_changed = false;
            self.served_in = None;
            let contention = |c: usize| {
                let share = |side: usize, other: usize| {
                    self.jobs[c].ports[side].first_common(&self.jobs[other].ports[side]).is_some()
                };
                self.thin.iter().filter(|&&o| o != c && (share(0, o) || share(1, o))).count()
            };
            let mut sorted: Vec<_> = self.thin.iter().map(|&c| (contention(c), c)).collect();
            sorted.sort_by_key(|(contention, _)| *contention);
            self.thin = sorted.into_iter().map(|(_, c)| c).collect();
        }
    }

    /// Gives out all ports, when it is the turn of the main queue `turn`.
    fn serve(&mut self, turn: Option<usize>) {
        let ports = self.coflows_at[0].len();
        self.free = [Bits::all(ports), Bits::all(ports)];
        self.served.clear();
        for &c in self.thin.iter().chain(&self.piloted) {
            let job = &self.jobs[c];
            for &pilot in job.pilots.iter().filter(|&&pilot| job.left[pilot as usize] > 0) {
                let [src, dst] = job.ports_of(pilot);
                if self.free[0].contains(src) && self.free[1].contains(dst) {
                    self.free[0].remove(src);
                    self.free[1].remove(dst);
                    self.served.push((c, pilot));
                }
            }
        }
        let others = (0..QUEUES).filter(|q| Some(*q) != turn);
        for q in turn.into_iter().chain(others) {
            for at in 0..self.main[q].len() {
                self.serve_coflow(self.main[q][at]);
                if self.free.iter().any(Bits::is_empty) {
                    return;
                }
            }
        }
    }

    /// For each free sender of a coflow, the first free receiver.
    fn serve_coflow(&mut self, c: usize) {
        let job = &self.jobs[c];
        for side in [0, 1] {
            self.local[side].clear();
            for port in job.ports[side].common(&self.free[side]) {
                self.local[side].insert(job.place_of[side][port] as usize);
            }
            if self.local[side].is_empty() {
                return;
            }
        }
        let [senders, receivers] = &mut self.local;
        for s in senders.common(senders) {
            if let Some(r) = job.open[s].first_common(receivers) {
                receivers.remove(r);
                self.free[0].remove(job.tasks[0][s].port);
                self.free[1].remove(job.tasks[1][r].port);
                self.served.push((c, (s * job.tasks[1].len() + r) as u32));
            }
        }
    }

    /// Sends for a cycle, at whose end it is now; returns how many coflows have ended.
    fn send(&mut self) -> usize {
        let mut ended = Vec::new();
        for &(c, flow) in &self.served {
            let (less, end) = self.jobs[c].serve(flow);
            self.moved_key[c] |= less;
            if end {
                ended.push((c, flow));
            }
        }
        let mut coflows = 0;
        for (c, flow) in ended {
            coflows += usize::from(self.end_flow(c, flow));
            self.served_in = None;
        }
        coflows
    }

    /// Ends a flow, and tells whether that ends its coflow.
    fn end_flow(&mut self, c: usize, flow: u32) -> bool {
        self.flow_end_ms[c][flow as usize] = self.now_ms;
        let ports = self.jobs[c].ports_of(flow);
        let ended = self.jobs[c].end_flow(flow);
        for side in [0, 1] {
            if ended[side] {
                self.count_coflow(side, ports[side], -1);
                self.moved_key[c] = true;
                self.thin_changed |= self.place[c] == Place::Thin;
            }
        }
        if self.jobs[c].open_flows == 0 {
            // If its last flow is a pilot, the ports count it for ever.
            self.end_ms[c] = self.now_ms;
            self.queue(self.place[c]).retain(|&other| other != c);
            self.thin_changed |= self.place[c] == Place::Thin;
            return true;
        }
        if !matches!(self.place[c], Place::Main(_)) && self.jobs[c].pilots.contains(&flow) {
            self.jobs[c].open_pilots -= 1;
            (0..2).for_each(|side| self.pilots_at[side][ports[side]] -= 1);
        }
        false
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
