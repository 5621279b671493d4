//! The queues of coflows, by key.

use super::coflow::Job;
use super::parameters::{Order, Parameters};

/// The queue that a coflow is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueId {
    /// Thin coflows.
    Thin,
    /// Coflows whose pilots have not ended.
    Pilots,
    /// The main queue of this number.
    Main(usize),
}

/// All queues, each in the order of service.
#[derive(Debug)]
pub(super) struct Queues {
    with: Parameters,
    pub thin: Vec<usize>,
    pub piloted: Vec<usize>,
    pub main: Vec<Vec<usize>>,
    /// The queue of each coflow.
    queue_of: Vec<QueueId>,
    /// Number of coflows with flows at each sending and each receiving port.
    coflows_at: [Vec<i64>; 2],
    /// Whether the key of each coflow may have changed.
    key_changed: Vec<bool>,
    /// Whether contention among thin coflows may have changed.
    thin_changed: bool,
}

impl Queues {
    /// Empty queues for `coflows` coflows on `ports` ports.
    pub fn new(with: Parameters, coflows: usize, ports: usize) -> Self {
        Self {
            with,
            thin: Vec::new(),
            piloted: Vec::new(),
            main: vec![Vec::new(); with.queues],
            queue_of: vec![QueueId::Thin; coflows],
            coflows_at: [vec![0; ports], vec![0; ports]],
            key_changed: vec![false; coflows],
            thin_changed: false,
        }
    }

    fn queue(&mut self, id: QueueId) -> &mut Vec<usize> {
        match id {
            QueueId::Thin => &mut self.thin,
            QueueId::Pilots => &mut self.piloted,
            QueueId::Main(q) => &mut self.main[q],
        }
    }

    /// Whether coflow `c` is in a main queue.
    pub fn is_main(&self, c: usize) -> bool {
        matches!(self.queue_of[c], QueueId::Main(_))
    }

    /// Puts a coflow that starts now into its first queue.
    pub fn admit(&mut self, c: usize, jobs: &[Job]) {
        let id = match (self.with.order, jobs[c].is_thin(&self.with)) {
            (Order::C, _) => QueueId::Main(0),
            (_, true) => QueueId::Thin,
            (_, false) => QueueId::Pilots,
        };
        self.queue_of[c] = id;
        self.queue(id).push(c);
        for side in [0, 1] {
            for task in &jobs[c].sides[side].tasks {
                self.count_coflow(jobs, side, task.port, 1);
            }
        }
        self.thin_changed |= id == QueueId::Thin;
    }

    /// Removes a coflow that has ended from its queue.
    pub fn remove(&mut self, c: usize) {
        let id = self.queue_of[c];
        self.queue(id).retain(|&other| other != c);
        self.thin_changed |= id == QueueId::Thin;
    }

    /// Notes that the key of coflow `c` may have changed.
    pub fn change_key(&mut self, c: usize) {
        self.key_changed[c] = true;
    }

    /// Notes that the last flow of coflow `c` at a port has ended.
    pub fn leave_port(&mut self, jobs: &[Job], c: usize, side: usize, port: usize) {
        self.count_coflow(jobs, side, port, -1);
        self.key_changed[c] = true;
        self.thin_changed |= self.queue_of[c] == QueueId::Thin;
    }

    /// Counts one coflow more or less at a port, which changes keys of coflows there.
    fn count_coflow(&mut self, jobs: &[Job], side: usize, port: usize, change: i64) {
        self.coflows_at[side][port] += change;
        if self.with.order == Order::D {
            for &c in self.main.iter().flatten() {
                self.key_changed[c] |= jobs[c].sides[side].ports.contains(port);
            }
        }
    }

    /// The main queue to which a coflow's key belongs.
    fn main_queue_of(&self, job: &Job) -> usize {
        let (estimate, size) = (job.estimate as i64, (job.width() as u64 * job.estimate) as i64);
        let key = match self.with.order {
            Order::A => size,
            Order::B if size >= job.sent as i64 => size - job.sent as i64,
            Order::B => 1,
            Order::C => return 0,
            Order::D => {
                let tasks = |side: usize| job.sides[side].tasks.iter().zip(std::iter::repeat(side));
                let open = tasks(0).chain(tasks(1)).filter(|(task, _)| task.open > 0);
                open.map(|(task, side)| {
                    (estimate - task.min_sent).max(1) * self.coflows_at[side][task.port]
                })
                .sum()
            }
        };
        let limits =
            std::iter::successors(Some(self.with.q1), |limit| limit.checked_mul(self.with.factor));
        limits.take(self.with.queues - 1).filter(|limit| *limit <= key).count()
    }

    /// Moves a coflow to the end of a main queue.
    fn move_to(&mut self, c: usize, queue: usize) {
        let from = self.queue_of[c];
        self.queue(from).retain(|&other| other != c);
        self.queue_of[c] = QueueId::Main(queue);
        self.main[queue].push(c);
    }

    /// Moves every coflow to the queue of its present key, and calls `estimated` for each coflow
    /// with a new estimate. Returns whether any queue has changed.
    pub fn update(&mut self, jobs: &mut [Job], mut estimated: impl FnMut(usize, &Job)) -> bool {
        let mut changed = false;
        let done = self.piloted.iter().filter(|&&c| jobs[c].open_pilots == 0);
        for c in done.copied().collect::<Vec<_>>() {
            let job = &mut jobs[c];
            job.estimate();
            if !job.is_thin(&self.with) {
                estimated(c, job);
            }
            self.move_to(c, self.main_queue_of(&jobs[c]));
            changed = true;
        }
        let mut moves = Vec::new();
        for (q, queue) in self.main.iter().enumerate() {
            let of_b = self.with.order == Order::B;
            for &c in queue.iter().filter(|&&c| of_b || self.key_changed[c]) {
                let target = self.main_queue_of(&jobs[c]);
                if target != q {
                    moves.push((c, target));
                }
            }
        }
        self.main.iter().flatten().for_each(|&c| self.key_changed[c] = false);
        changed |= !moves.is_empty();
        moves.into_iter().for_each(|(c, queue)| self.move_to(c, queue));
        if std::mem::take(&mut self.thin_changed) {
            self.sort_thin(jobs);
            changed = true;
        }
        changed
    }

    /// Sorts thin coflows by the number of others that share a port with them.
    fn sort_thin(&mut self, jobs: &[Job]) {
        let share = |side: usize, c: usize, other: usize| {
            jobs[c].sides[side].ports.first_common(&jobs[other].sides[side].ports).is_some()
        };
        let contention = |c: usize| {
            let others = self.thin.iter().filter(|&&o| o != c);
            others.filter(|&&o| share(0, c, o) || share(1, c, o)).count()
        };
        let mut sorted: Vec<_> = self.thin.iter().map(|&c| (contention(c), c)).collect();
        sorted.sort_by_key(|(contention, _)| *contention);
        self.thin = sorted.into_iter().map(|(_, c)| c).collect();
    }
}
