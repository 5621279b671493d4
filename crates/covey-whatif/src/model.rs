//! An application as a graph of causes: what each task, stage and job waited for, and how long
//! after that it began.
//!
//! A replay changes how long tasks take; the graph says what follows. All times are in seconds
//! after the start of the application.
//!
//! - A task keeps its slot of its executor. If the slot was busy when the stage was submitted, the
//!   task starts when the task before it on the slot has ended; else it starts some time after its
//!   stage was submitted.
//! - A stage is submitted some time after its last parent has ended, or after its job was
//!   submitted.
//! - A job is submitted some time after the last stage that had ended by then: the driver waited
//!   for it.

use std::collections::BTreeMap;

use covey_spark::{Application, Log};

/// What begins, and how long after its cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct After {
    /// The cause; `None` for the start of the application.
    pub stage: Option<usize>,
    /// Seconds between the end of the cause and the beginning.
    pub lag_s: f64,
}

/// A task and what it waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Index of its stage in [`Model::stages`].
    pub stage: usize,
    /// Index in [`Model::tasks`] of the task before it on its slot.
    pub before: Option<usize>,
    /// Whether the slot was busy when the stage was submitted.
    pub slot_was_busy: bool,
    /// Seconds from the end of the task before it, if the slot was busy, or else from the
    /// submission of its stage.
    pub lag_s: f64,
    /// Seconds that it computed: from launch to finish, without the wait for fetches.
    pub compute_s: f64,
    /// Seconds that it waited for fetches, as logged.
    pub wait_s: f64,
    /// Whether its stage ends only when it has ended.
    pub counts: bool,
}

/// A stage and what it waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its id, and the number of its attempt.
    pub id: (u32, u32),
    /// Index of its job in [`Model::jobs`]; `None` if the log does not say.
    pub job: Option<usize>,
    /// What it was submitted after, unless that is its job.
    pub after: Option<After>,
    /// Seconds after the submission of its job, if it waited for nothing else.
    pub lag_s: f64,
    /// Indices of the stages whose outputs it reads.
    pub parents: Vec<usize>,
    /// Seconds from the end of its last task to its own end.
    pub tail_s: f64,
    /// When it was submitted, by the log.
    pub logged_start_s: f64,
    /// When it ended, by the log.
    pub logged_end_s: f64,
}

/// A job and what it waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: u32,
    /// What it was submitted after.
    pub after: After,
    /// Indices of its stages that ran, never empty.
    pub stages: Vec<usize>,
    /// Seconds from the end of its last stage to its own end.
    pub tail_s: f64,
    /// When it was submitted, by the log.
    pub logged_start_s: f64,
    /// When it ended, by the log.
    pub logged_end_s: f64,
}

/// Bytes that a task fetches from another host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fetch {
    /// Index of the task in [`Model::tasks`].
    pub task: usize,
    /// Index of the sending host in [`Model::hosts`].
    pub src: u32,
    /// Index of the receiving host.
    pub dst: u32,
    /// Bytes.
    pub bytes: f64,
}

/// The fetches of an attempt of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetches {
    /// Index of the stage.
    pub stage: usize,
    /// The fetches, in order of their tasks.
    pub fetches: Vec<Fetch>,
    /// Bytes before compression over bytes written, if the log has both.
    pub raw_ratio: Option<f64>,
}

/// An application that can be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The log.
    pub file: String,
    /// Its start, in seconds of the cluster's clock.
    pub start_s: f64,
    /// Seconds from its start to its end, by the log.
    pub logged_s: f64,
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// The stages, in order of their submission.
    pub stages: Vec<Stage>,
    /// The jobs that ran a stage, in order of their ids.
    pub jobs: Vec<Job>,
    /// The tasks, in the order of their launches: causes come first.
    pub tasks: Vec<Task>,
    /// The coflows that cross the network.
    pub coflows: Vec<Fetches>,
}

impl Model {
    /// The model of a log.
    pub fn of(log: &Log) -> Model {
        let it = &log.application;
        let seconds = |ms: u64| ms.saturating_sub(it.start_ms) as f64 / 1e3;
        let stages = Stages::of(it);
        let (jobs, job_of) = stages.jobs(it, seconds);
        let index_of = |id: u32| stages.indices_of(id);
        let mut made: Vec<Stage> = Vec::new();
        for (index, times) in stages.list.iter().enumerate() {
            let own = &it.stages[&times.id];
            let parents =
                own.parents.iter().filter_map(|&id| it.run_of(id, Some(times.submitted_ms)));
            let mut parents: Vec<usize> =
                parents.flat_map(|(id, _)| index_of(id)).filter(|&p| p < index).collect();
            parents.sort_unstable();
            parents.dedup();
            let job = job_of.get(&index).copied();
            let job_ms = job.map_or(0, |job: usize| it.jobs[&jobs[job].id].submitted_ms);
            let last = parents
                .iter()
                .copied()
                .max_by_key(|&parent| (stages.list[parent].ended_ms, parent));
            let after = last.filter(|&parent| {
                let ended_ms = stages.list[parent].ended_ms;
                (job_ms..=times.submitted_ms).contains(&ended_ms)
            });
            let since = |from_ms: u64| times.submitted_ms.saturating_sub(from_ms) as f64 / 1e3;
            let after = match (after, job) {
                (Some(parent), _) => {
                    Some(After { stage: Some(parent), lag_s: since(stages.list[parent].ended_ms) })
                }
                (None, Some(_)) => None,
                (None, None) => Some(stages.last_ended_by(times.submitted_ms, it.start_ms)),
            };
            made.push(Stage {
                id: times.id,
                job,
                after,
                lag_s: since(job_ms),
                parents,
                tail_s: times.ended_ms.saturating_sub(times.last_task_ms) as f64 / 1e3,
                logged_start_s: seconds(times.submitted_ms),
                logged_end_s: seconds(times.ended_ms),
            });
        }
        let (tasks, number) = stages.tasks(it);
        let coflows = fetches(log, &stages, &number);
        Model {
            file: log.file.clone(),
            start_s: it.start_ms as f64 / 1e3,
            logged_s: it.end_ms.saturating_sub(it.start_ms) as f64 / 1e3,
            hosts: it.hosts.clone(),
            stages: made,
            jobs,
            tasks,
            coflows,
        }
    }
}

/// The stages that ran, with the times of the log.
struct Stages {
    list: Vec<Times>,
}

struct Times {
    id: (u32, u32),
    submitted_ms: u64,
    ended_ms: u64,
    /// The end of the last task that counts.
    last_task_ms: u64,
}

impl Stages {
    /// In order of submission.
    fn of(it: &Application) -> Stages {
        let mut list: Vec<Times> = Vec::new();
        for (&id, stage) in it.stages.iter().filter(|(_, stage)| !stage.tasks.is_empty()) {
            let tasks = || stage.tasks.iter().map(|&task| it.tasks[task as usize]);
            let first_ms = tasks().map(|task| task.launch_ms).min().unwrap_or(0);
            let submitted_ms = stage.submitted_ms.unwrap_or(first_ms).min(first_ms);
            let by_ms = stage.completed_ms.unwrap_or(u64::MAX);
            // Copies of tasks may go on after the stage has ended.
            let in_time =
                tasks().map(|task| task.finish_ms).filter(|&finish_ms| finish_ms <= by_ms);
            let last_task_ms = in_time.max().unwrap_or(submitted_ms);
            let ended_ms = stage.completed_ms.unwrap_or(last_task_ms).max(last_task_ms);
            list.push(Times { id, submitted_ms, ended_ms, last_task_ms });
        }
        list.sort_by_key(|times| (times.submitted_ms, times.id));
        Stages { list }
    }

    /// The attempts of a stage.
    fn indices_of(&self, id: u32) -> Vec<usize> {
        (0..self.list.len()).filter(|&index| self.list[index].id.0 == id).collect()
    }

    /// What begins at `by_ms` was caused by the last stage that had ended by then, or by the start
    /// of the application.
    fn last_ended_by(&self, by_ms: u64, start_ms: u64) -> After {
        let ended = self.list.iter().enumerate().filter(|(_, times)| times.ended_ms <= by_ms);
        let last = ended.max_by_key(|(index, times)| (times.ended_ms, *index));
        let from_ms = last.map_or(start_ms, |(_, times)| times.ended_ms);
        After {
            stage: last.map(|(index, _)| index),
            lag_s: by_ms.saturating_sub(from_ms) as f64 / 1e3,
        }
    }

    /// The jobs that ran a stage, and the job of each stage: of several that name it the last one
    /// that was submitted before it.
    fn jobs(
        &self,
        it: &Application,
        seconds: impl Fn(u64) -> f64,
    ) -> (Vec<Job>, BTreeMap<usize, usize>) {
        let mut of_stage: BTreeMap<usize, (u64, u32)> = BTreeMap::new();
        for (&id, job) in &it.jobs {
            for index in job.stages.iter().flat_map(|&stage| self.indices_of(stage)) {
                if job.submitted_ms <= self.list[index].submitted_ms {
                    let last = of_stage.entry(index).or_insert((job.submitted_ms, id));
                    *last = (*last).max((job.submitted_ms, id));
                }
            }
        }
        let mut stages_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (&index, &(_, id)) in &of_stage {
            stages_of.entry(id).or_default().push(index);
        }
        let mut index_of: BTreeMap<u32, usize> = BTreeMap::new();
        let mut jobs = Vec::new();
        for (id, stages) in stages_of {
            let job = &it.jobs[&id];
            let last_ms = stages
                .iter()
                .map(|&index| self.list[index].ended_ms)
                .max()
                .unwrap_or(job.submitted_ms);
            let ended_ms = job.completed_ms.unwrap_or(last_ms).max(last_ms);
            index_of.insert(id, jobs.len());
            jobs.push(Job {
                id,
                after: self.last_ended_by(job.submitted_ms, it.start_ms),
                stages,
                tail_s: (ended_ms - last_ms) as f64 / 1e3,
                logged_start_s: seconds(job.submitted_ms),
                logged_end_s: seconds(ended_ms),
            });
        }
        (jobs, of_stage.into_iter().map(|(index, (_, id))| (index, index_of[&id])).collect())
    }

    /// The tasks in order of their launches, each on a slot of its executor, and the place of each
    /// task of the log.
    fn tasks(&self, it: &Application) -> (Vec<Task>, Vec<usize>) {
        let mut stage_of = vec![0; it.tasks.len()];
        for (index, times) in self.list.iter().enumerate() {
            it.stages[&times.id].tasks.iter().for_each(|&task| stage_of[task as usize] = index);
        }
        let mut order: Vec<usize> = (0..it.tasks.len()).collect();
        order.sort_by_key(|&task| (it.tasks[task].launch_ms, it.tasks[task].finish_ms, task));
        let mut number = vec![0; it.tasks.len()];
        // The last task of each slot, by executor: when it ended, and its place.
        let mut slots: Vec<Vec<(u64, usize)>> = vec![Vec::new(); it.executors.len()];
        let mut tasks = Vec::with_capacity(order.len());
        for (place, &in_log) in order.iter().enumerate() {
            number[in_log] = place;
            let task = &it.tasks[in_log];
            let times = &self.list[stage_of[in_log]];
            let slots = &mut slots[task.executor as usize];
            // Of the free slots, the one that became free last.
            let free = slots.iter_mut().filter(|(ended_ms, _)| *ended_ms <= task.launch_ms);
            let before = match free.max_by_key(|slot| **slot) {
                Some(slot) => Some(std::mem::replace(slot, (task.finish_ms, place))),
                None => {
                    slots.push((task.finish_ms, place));
                    None
                }
            };
            let busy_until = before.filter(|(ended_ms, _)| *ended_ms > times.submitted_ms);
            let from_ms = busy_until.map_or(times.submitted_ms, |(ended_ms, _)| ended_ms);
            let held_ms = task.finish_ms - task.launch_ms;
            let wait_ms = task.wait_ms.min(held_ms);
            tasks.push(Task {
                stage: stage_of[in_log],
                before: before.map(|(_, place)| place),
                slot_was_busy: busy_until.is_some(),
                lag_s: task.launch_ms.saturating_sub(from_ms) as f64 / 1e3,
                compute_s: (held_ms - wait_ms) as f64 / 1e3,
                wait_s: wait_ms as f64 / 1e3,
                counts: task.finish_ms <= times.last_task_ms,
            });
        }
        (tasks, number)
    }
}

fn fetches(log: &Log, stages: &Stages, number: &[usize]) -> Vec<Fetches> {
    let it = &log.application;
    let mut coflows = Vec::new();
    for coflow in log.coflows.iter().filter(|coflow| coflow.remote_bytes() > 0) {
        let Some(stage) = stages.list.iter().position(|times| times.id == coflow.stage) else {
            continue;
        };
        let fetches: Vec<Fetch> = coflow
            .flows(it)
            .into_iter()
            .map(|flow| Fetch {
                task: number[flow.task as usize],
                src: flow.src,
                dst: flow.dst,
                bytes: flow.bytes as f64,
            })
            .collect();
        let raw: Option<u64> = coflow.parents.iter().map(|&parent| it.raw_bytes(parent)).sum();
        let written: u64 = coflow.written.iter().sum();
        let raw_ratio = raw.filter(|_| written > 0).map(|raw| raw as f64 / written as f64);
        if !fetches.is_empty() {
            coflows.push(Fetches { stage, fetches, raw_ratio });
        }
    }
    coflows
}
