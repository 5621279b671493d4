//! Coflows: the reads of one attempt of a reduce stage, of all its parents together.
//!
//! What each host sends and receives is exact. A host sends what it wrote for all parents, less
//! what readers on it read locally; it receives what readers on it read remotely. Which of the
//! bytes went from which host to which is not in the log, and is [fitted](crate::fit).

use crate::application::{Application, Stage};
use crate::fit::{apportion, pairs, split};

/// The reads of an attempt of a stage. Lists by host are in the order of [`Application::hosts`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SparkCoflow {
    /// Id of the stage, and number of its attempt.
    pub stage: (u32, u32),
    /// Ids of the stages that wrote what it reads, in the order of the log.
    pub parents: Vec<u32>,
    /// Parents that the log names and of which no run was found.
    pub unmatched: u32,
    /// Parents of which several runs were found; the last one before the stage counts.
    pub ambiguous: u32,
    /// Bytes that each host wrote for the parents.
    pub written: Vec<u64>,
    /// Bytes that readers on each host read there.
    pub local: Vec<u64>,
    /// Bytes that each host received from others.
    pub remote_in: Vec<u64>,
    /// Indices of the tasks that read anything, in [`Application::tasks`].
    pub readers: Vec<u32>,
    /// Number of blocks that were read.
    pub blocks: u64,
    /// Milliseconds that readers were blocked on fetches, as logged.
    pub wait_ms: u64,
    /// The first launch of a reader.
    pub first_launch_ms: u64,
    /// The last finish of a reader.
    pub last_finish_ms: u64,
}

impl SparkCoflow {
    /// Bytes that each host sent to others: written less read locally. Negative only if more was
    /// read than written, as where tasks were tried again.
    pub fn remote_out(&self) -> impl Iterator<Item = i64> {
        self.written.iter().zip(&self.local).map(|(&written, &local)| written as i64 - local as i64)
    }

    /// Whether what was read equals what was written: all lists are then exact.
    pub fn is_closed(&self) -> bool {
        let read = sum(&self.remote_in) + sum(&self.local);
        self.unmatched == 0
            && read == sum(&self.written)
            && self.remote_out().all(|bytes| bytes >= 0)
    }

    /// Bytes that crossed the network.
    pub fn remote_bytes(&self) -> u64 {
        self.remote_in.iter().sum()
    }

    /// Bytes from each host (row) to each other host (column). Columns are exact: they are what was
    /// logged. Rows are exact if the coflow is closed; else remote bytes are shared out in
    /// proportion to what each host sent, or else wrote. Single cells are [fitted](crate::fit), but
    /// with two hosts there is no choice.
    pub fn pairs(&self) -> Vec<Vec<u64>> {
        let sent: Vec<u64> = self.remote_out().map(|bytes| bytes.max(0) as u64).collect();
        let fitted = if self.is_closed() { pairs(&sent, &self.remote_in) } else { None };
        fitted.unwrap_or_else(|| {
            let sum: u128 = sum(&sent);
            let weights = if sum > 0 { &sent } else { &self.written };
            by_receiver(weights, &self.remote_in)
        })
    }
}

/// Bytes that a task reads from another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkFlow {
    /// Index of the task in [`Application::tasks`].
    pub task: u32,
    /// Index of the host that sends in [`Application::hosts`].
    pub src: u32,
    /// Index of the host that receives.
    pub dst: u32,
    /// Its bytes, above 0.
    pub bytes: u64,
}

impl SparkCoflow {
    /// The flows of its tasks, in the order of these, then of the senders. Those of a task add up
    /// to what it read from other hosts, and those of a pair of hosts to [`SparkCoflow::pairs`].
    pub fn flows(&self, application: &Application) -> Vec<NetworkFlow> {
        let pairs = self.pairs();
        let mut flows = Vec::new();
        for dst in 0..self.remote_in.len() {
            let column: Vec<u64> = pairs.iter().map(|row| row[dst]).collect();
            let tasks = || {
                let all = self.readers.iter().map(|&task| (task, application.tasks[task as usize]));
                all.filter(|(_, task)| task.host as usize == dst && task.remote > 0)
            };
            let reads: Vec<u64> = tasks().map(|(_, task)| task.remote).collect();
            // On one host alone nothing crosses the network.
            if column.iter().sum::<u64>() != reads.iter().sum::<u64>() {
                continue;
            }
            for (src, row) in (0..).zip(split(&column, &reads)) {
                for ((task, _), bytes) in tasks().zip(row).filter(|(_, bytes)| *bytes > 0) {
                    flows.push(NetworkFlow { task, src, dst: dst as u32, bytes });
                }
            }
        }
        flows.sort_unstable_by_key(|flow| (flow.task, flow.src));
        flows
    }
}

/// Shares what each host received out among the others in proportion to their weights, or evenly if
/// these are all 0.
fn by_receiver(weights: &[u64], received: &[u64]) -> Vec<Vec<u64>> {
    let hosts = received.len();
    let mut matrix = vec![vec![0; hosts]; hosts];
    for (receiver, &bytes) in received.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        let mut of_others: Vec<f64> = weights.iter().map(|&weight| weight as f64).collect();
        of_others[receiver] = 0.0;
        if of_others.iter().all(|weight| *weight == 0.0) {
            of_others = vec![1.0; hosts];
            of_others[receiver] = 0.0;
        }
        if hosts > 1 {
            let parts = apportion(&of_others, bytes);
            matrix.iter_mut().zip(parts).for_each(|(row, part)| row[receiver] = part);
        }
    }
    matrix
}

fn sum(values: &[u64]) -> u128 {
    values.iter().map(|&value| u128::from(value)).sum()
}

impl Application {
    /// The coflows of the application: attempts of stages that read shuffles, in order of the
    /// stages' ids.
    pub fn coflows(&self) -> Vec<SparkCoflow> {
        let coflows = self.stages.iter().filter_map(|(&id, stage)| {
            let reads = |task: &&u32| {
                let task = &self.tasks[**task as usize];
                task.remote > 0 || task.local > 0
            };
            let readers: Vec<u32> = stage.tasks.iter().filter(reads).copied().collect();
            (!readers.is_empty()).then(|| self.coflow(id, stage, readers))
        });
        coflows.collect()
    }

    fn coflow(&self, id: (u32, u32), stage: &Stage, readers: Vec<u32>) -> SparkCoflow {
        let hosts = self.hosts.len();
        let mut coflow = SparkCoflow {
            stage: id,
            written: vec![0; hosts],
            local: vec![0; hosts],
            remote_in: vec![0; hosts],
            first_launch_ms: u64::MAX,
            ..SparkCoflow::default()
        };
        for &parent in &stage.parents {
            match self.run_of(parent, stage.submitted_ms) {
                Some((found, ambiguous)) => {
                    coflow.parents.push(found);
                    coflow.ambiguous += u32::from(ambiguous);
                }
                None => coflow.unmatched += 1,
            }
        }
        let outputs = coflow.parents.iter().filter_map(|parent| self.outputs.get(parent));
        for output in outputs.flat_map(|outputs| outputs.values()) {
            coflow.written[output.host as usize] += output.bytes;
        }
        for task in readers.iter().map(|&task| &self.tasks[task as usize]) {
            coflow.local[task.host as usize] += task.local;
            coflow.remote_in[task.host as usize] += task.remote;
            coflow.blocks += task.remote_blocks + task.local_blocks;
            coflow.wait_ms += task.wait_ms;
            coflow.first_launch_ms = coflow.first_launch_ms.min(task.launch_ms);
            coflow.last_finish_ms = coflow.last_finish_ms.max(task.finish_ms);
        }
        coflow.readers = readers;
        coflow
    }

    /// The stage that wrote what a stage of the log's id would have written: itself if it ran, or
    /// else the last one of the same RDDs that was submitted before `by_ms`; and whether there are
    /// several.
    ///
    /// With adaptive execution and with reused exchanges, stages name parents that were skipped.
    pub fn run_of(&self, stage: u32, by_ms: Option<u64>) -> Option<(u32, bool)> {
        let ran = |stage: u32| self.stages.range((stage, 0)..=(stage, u32::MAX)).next_back();
        if ran(stage).is_some() {
            return Some((stage, false));
        }
        let set = self.rdds_of.get(&stage)?;
        let by_ms = by_ms.unwrap_or(u64::MAX);
        let same = self.rdds_of.iter().filter(|(_, number)| *number == set);
        let mut runs: Vec<(u64, u32)> = same
            .filter_map(|(&other, _)| Some((ran(other)?.1.submitted_ms.unwrap_or(0), other)))
            .filter(|(submitted_ms, _)| *submitted_ms <= by_ms)
            .collect();
        runs.sort_unstable();
        runs.last().map(|&(_, found)| (found, runs.len() > 1))
    }
}
