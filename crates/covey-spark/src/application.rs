//! What one application did, as its log says.

use std::collections::BTreeMap;

/// One application: its hosts, executors, jobs, stages and tasks. Times are milliseconds of the
/// cluster's clock.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Application {
    /// Its id, such as `app-20261127205552-0001`; empty if the log has none.
    pub id: String,
    /// Its name; empty if the log has none.
    pub name: String,
    /// The version of Spark; logs of Databricks have none.
    pub version: Option<String>,
    /// The properties that matter here, by name.
    pub properties: BTreeMap<String, String>,
    /// Its start, or the first time in the log.
    pub start_ms: u64,
    /// Its end, or the last time in the log.
    pub end_ms: u64,
    /// Whether the log has the end of the application.
    pub ended: bool,
    /// Names of the hosts that ran tasks, sorted. Tasks have indices into them.
    pub hosts: Vec<String>,
    /// Ids of executors that ran tasks, in order of appearance. Tasks have indices into them.
    pub executors: Vec<String>,
    /// Jobs by id.
    pub jobs: BTreeMap<u32, Job>,
    /// Attempts of stages that were submitted or ran tasks, by id of the stage, then number of the
    /// attempt.
    pub stages: BTreeMap<(u32, u32), Stage>,
    /// Attempts of tasks that have ended, in the order of the log.
    pub tasks: Vec<Task>,
    /// Map outputs by id of the stage and index of the task: those of the last success.
    pub outputs: BTreeMap<u32, BTreeMap<u32, Output>>,
    /// The number of each set of RDDs. [`Application::rdds_of`] has these numbers.
    pub(crate) rdd_sets: BTreeMap<Vec<u32>, u32>,
    /// The number of the set of RDDs of each stage in the log, also of stages that never ran.
    pub(crate) rdds_of: BTreeMap<u32, u32>,
}

/// A job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// When it was submitted.
    pub submitted_ms: u64,
    /// When it ended; `None` if the log does not say.
    pub completed_ms: Option<u64>,
    /// The ids of its stages, those that were skipped included.
    pub stages: Vec<u32>,
}

/// An attempt of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// When it was submitted; `None` if the log does not say.
    pub submitted_ms: Option<u64>,
    /// When it ended; `None` if the log does not say.
    pub completed_ms: Option<u64>,
    /// Its parents by the log's ids, which may be those of stages that were skipped.
    pub parents: Vec<u32>,
    /// Indices of its tasks in [`Application::tasks`].
    pub tasks: Vec<u32>,
    /// Bytes before serialisation's compression that its exchange wrote (SQL's metric `data size`),
    /// if it has one.
    pub data_bytes: Option<u64>,
}

/// An attempt of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Task {
    /// Index of the task in its stage.
    pub index: u32,
    /// Index of its host in [`Application::hosts`].
    pub host: u32,
    /// Index of its executor in [`Application::executors`].
    pub executor: u32,
    /// Whether it succeeded.
    pub success: bool,
    /// Whether it is a speculative copy.
    pub speculative: bool,
    /// When it was launched.
    pub launch_ms: u64,
    /// When it ended.
    pub finish_ms: u64,
    /// Time in the executor.
    pub run_ms: u64,
    /// Time blocked on fetches. Each block's part is cut to whole milliseconds.
    pub wait_ms: u64,
    /// Shuffle bytes read from other executors' hosts.
    pub remote: u64,
    /// Shuffle bytes read on its own host.
    pub local: u64,
    /// Blocks read from other hosts.
    pub remote_blocks: u64,
    /// Blocks read on its own host.
    pub local_blocks: u64,
}

/// The output of a map task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Index of the host that has it in [`Application::hosts`].
    pub host: u32,
    /// Its bytes, compressed as Spark was told to.
    pub bytes: u64,
    /// Its records.
    pub records: u64,
}

impl Application {
    /// Bytes that maps wrote, once for each index.
    pub fn written(&self) -> u64 {
        self.outputs.values().flat_map(BTreeMap::values).map(|output| output.bytes).sum()
    }

    /// Bytes that tasks read from other hosts.
    pub fn remote(&self) -> u64 {
        self.tasks.iter().map(|task| task.remote).sum()
    }

    /// Bytes that tasks read on their own hosts.
    pub fn local(&self) -> u64 {
        self.tasks.iter().map(|task| task.local).sum()
    }

    /// Milliseconds that tasks were blocked on fetches, as logged.
    pub fn wait_ms(&self) -> u64 {
        self.tasks.iter().map(|task| task.wait_ms).sum()
    }

    /// Milliseconds that tasks spent in executors.
    pub fn run_ms(&self) -> u64 {
        self.tasks.iter().map(|task| task.run_ms).sum()
    }

    /// Milliseconds that tasks held slots, from launch to finish.
    pub fn slot_ms(&self) -> u64 {
        self.tasks.iter().map(|task| task.finish_ms.saturating_sub(task.launch_ms)).sum()
    }

    /// Blocks that were read from other hosts.
    pub fn remote_blocks(&self) -> u64 {
        self.tasks.iter().map(|task| task.remote_blocks).sum()
    }

    /// Blocks that were read on the same host.
    pub fn local_blocks(&self) -> u64 {
        self.tasks.iter().map(|task| task.local_blocks).sum()
    }

    /// Attempts of tasks that did not succeed.
    pub fn failed(&self) -> usize {
        self.tasks.iter().filter(|task| !task.success).count()
    }

    /// The share of executors' time in which tasks waited for fetches: as logged, and at most.
    /// Spark cuts the wait for each block to whole milliseconds, so up to one millisecond is
    /// missing for each. `None` if no task ran.
    pub fn ceiling(&self) -> Option<[f64; 2]> {
        let run = self.run_ms() as f64;
        let logged = self.wait_ms();
        let most = logged + self.remote_blocks() + self.local_blocks();
        (run > 0.0).then(|| [logged as f64 / run, (most as f64 / run).min(1.0)])
    }

    /// The bytes of a stage's map outputs before compression, if its exchange counts them.
    ///
    /// SQL's metric `data size` leaves out the four bytes before each record.
    pub fn raw_bytes(&self, stage: u32) -> Option<u64> {
        let attempts = self.stages.range((stage, 0)..=(stage, u32::MAX));
        let data = attempts.filter_map(|(_, attempt)| attempt.data_bytes).next_back()?;
        let records: u64 = self.outputs.get(&stage)?.values().map(|output| output.records).sum();
        data.checked_add(records.checked_mul(4)?)
    }
}
