//! The choice of flows that get their ports for a cycle.

use covey_core::BitSet;

use super::coflow::Job;
use super::queues::Queues;

/// The flows that have their ports.
#[derive(Debug)]
pub(super) struct Serving {
    /// The flows, each as its coflow and its number there, coflow by coflow.
    pub served: Vec<(usize, u32)>,
    /// The turn for which they were chosen; `None` if queues or flows have changed since.
    chosen_for: Option<Option<usize>>,
    /// All ports.
    all: BitSet,
    /// The sending and the receiving ports that are assigned to no flow.
    free: [BitSet; 2],
    /// The senders and receivers of one coflow whose ports are free, by position.
    free_tasks: [BitSet; 2],
}

impl Serving {
    /// A state for `ports` ports in which no flow is served.
    pub fn new(ports: usize) -> Self {
        let none = || [BitSet::none(ports), BitSet::none(ports)];
        let (free, free_tasks) = (none(), none());
        Self { served: Vec::new(), chosen_for: None, all: BitSet::all(ports), free, free_tasks }
    }

    /// Notes that queues or flows have changed: flows are chosen again before the next cycle.
    pub fn invalidate(&mut self) {
        self.chosen_for = None;
    }

    /// Assigns all ports in the turn of the main queue `turn`, unless the previous choice is still
    /// valid. Returns whether it assigned them.
    pub fn choose(&mut self, turn: Option<usize>, jobs: &[Job], queues: &Queues) -> bool {
        if self.chosen_for == Some(turn) {
            return false;
        }
        self.chosen_for = Some(turn);
        self.assign_ports(turn, jobs, queues);
        true
    }

    fn assign_ports(&mut self, turn: Option<usize>, jobs: &[Job], queues: &Queues) {
        self.free.iter_mut().for_each(|free| free.clone_from(&self.all));
        self.served.clear();
        for &c in queues.thin.iter().chain(&queues.piloted) {
            let job = &jobs[c];
            for &pilot in job.pilots.iter().filter(|&&pilot| job.left[pilot as usize] > 0) {
                let [src, dst] = job.ports_of(pilot);
                if self.free[0].contains(src) && self.free[1].contains(dst) {
                    self.free[0].remove(src);
                    self.free[1].remove(dst);
                    self.served.push((c, pilot));
                }
            }
        }
        let others = (0..queues.main.len()).filter(|q| Some(*q) != turn);
        for q in turn.into_iter().chain(others) {
            for &c in &queues.main[q] {
                self.serve_coflow(c, &jobs[c]);
                if self.free.iter().any(BitSet::is_empty) {
                    return;
                }
            }
        }
    }

    /// Gives each free sender of a coflow its first free receiver.
    fn serve_coflow(&mut self, c: usize, job: &Job) {
        for side in [0, 1] {
            self.free_tasks[side].clear();
            for port in job.sides[side].ports.common(&self.free[side]) {
                self.free_tasks[side].insert(job.sides[side].position_of[port] as usize);
            }
            if self.free_tasks[side].is_empty() {
                return;
            }
        }
        let [senders, receivers] = &mut self.free_tasks;
        for s in senders.common(senders) {
            if let Some(r) = job.open[s].first_common(receivers) {
                receivers.remove(r);
                self.free[0].remove(job.sides[0].tasks[s].port);
                self.free[1].remove(job.sides[1].tasks[r].port);
                self.served.push((c, (s * job.sides[1].tasks.len() + r) as u32));
            }
        }
    }
}
