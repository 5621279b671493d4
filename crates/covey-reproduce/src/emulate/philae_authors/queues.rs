//! Which queue a coflow is in, by its key.

use super::{Estimate, Order, Place, Simulator};

impl Simulator {
    pub(super) fn queue(&mut self, place: Place) -> &mut Vec<usize> {
        match place {
            Place::Thin => &mut self.thin,
            Place::Pilots => &mut self.piloted,
            Place::Main(q) => &mut self.main[q],
        }
    }

    /// A coflow more or less at a port: keys of coflows there change.
    pub(super) fn count_coflow(&mut self, side: usize, port: usize, change: i64) {
        self.coflows_at[side][port] += change;
        if self.with.order == Order::D {
            for &c in self.main.iter().flatten() {
                self.moved_key[c] |= self.jobs[c].ports[side].contains(port);
            }
        }
    }

    /// The main queue in which a coflow should be.
    fn queue_of(&self, c: usize) -> usize {
        let job = &self.jobs[c];
        let (estimate, size) = (job.estimate as i64, (job.width() as u64 * job.estimate) as i64);
        let key = match self.with.order {
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
        let limits =
            std::iter::successors(Some(self.with.q1), |limit| limit.checked_mul(self.with.factor));
        limits.take(self.with.queues - 1).filter(|limit| *limit <= key).count()
    }

    /// Moves a coflow to the end of the main queue where it should be.
    fn move_to(&mut self, c: usize, queue: usize) {
        let from = self.place[c];
        self.queue(from).retain(|&other| other != c);
        self.place[c] = Place::Main(queue);
        self.main[queue].push(c);
        self.served_in = None;
    }

    pub(super) fn update_queues(&mut self) {
        let jobs = &self.jobs;
        let estimated = self.piloted.iter().filter(|&&c| jobs[c].open_pilots == 0);
        for c in estimated.copied().collect::<Vec<_>>() {
            let job = &mut self.jobs[c];
            job.estimate();
            if !job.is_thin(&self.with) {
                self.estimates[c] = Some(Estimate {
                    after_s: (self.now_ms - self.start_ms[c]) as f64 / 1e3,
                    sent: job.sent as f64,
                    size: (job.width() as u64 * job.estimate) as f64,
                });
            }
            self.move_to(c, self.queue_of(c));
        }
        let mut moves = Vec::new();
        for (q, queue) in self.main.iter().enumerate() {
            for &c in queue.iter().filter(|&&c| self.with.order == Order::B || self.moved_key[c]) {
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
}
