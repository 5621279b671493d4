//! One link as a machine that serves its jobs one at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::links::Job;

/// Serves released jobs by smallest key; a job with a smaller key interrupts. Keeps its buffers
/// between calls.
#[derive(Debug)]
pub(super) struct Machine<Key> {
    left: Vec<f64>,
    waiting: BinaryHeap<Reverse<(Key, u32)>>,
}

impl<Key: Ord> Default for Machine<Key> {
    fn default() -> Self {
        Machine { left: Vec::new(), waiting: BinaryHeap::new() }
    }
}

impl<Key: Ord> Machine<Key> {
    /// Serves `jobs`, which are in order of release. `key` returns the key of a job, given its
    /// position and its remaining seconds; keys do not rise while the machine serves the job. After
    /// each stretch of work on a job, the machine calls `worked` with the job's position, and the
    /// begin and length of the stretch.
    pub fn serve(
        &mut self,
        jobs: &[Job],
        key: impl Fn(usize, f64) -> Key,
        mut worked: impl FnMut(usize, f64, f64),
    ) {
        self.left.clear();
        self.left.extend(jobs.iter().map(|job| job.length));
        let (mut now, mut released) = (0.0, 0);
        while released < jobs.len() || !self.waiting.is_empty() {
            if self.waiting.is_empty() {
                now = jobs[released].release;
            }
            while released < jobs.len() && jobs[released].release <= now {
                self.waiting.push(Reverse((key(released, self.left[released]), released as u32)));
                released += 1;
            }
            let Some(mut first) = self.waiting.peek_mut() else { break };
            let j = first.0.1 as usize;
            let next = jobs.get(released).map_or(f64::INFINITY, |job| job.release);
            let work = self.left[j].min(next - now);
            worked(j, now, work);
            if work < self.left[j] {
                self.left[j] -= work;
                first.0.0 = key(j, self.left[j]);
                now = next;
            } else {
                PeekMut::pop(first);
                now += work;
            }
        }
    }
}
