//! When tasks, stages and jobs of an application begin and end, if each task takes as long as it is
//! said to.

use crate::model::{After, Model};

/// Times in seconds after the start of the application.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schedule {
    /// Start of each task.
    pub task_start_s: Vec<f64>,
    /// Start and end of each stage.
    pub stages_s: Vec<[f64; 2]>,
    /// Start and end of each job.
    pub jobs_s: Vec<[f64; 2]>,
    /// The end of the last job or stage.
    pub end_s: f64,
}

impl Model {
    /// The schedule if task `k` of [`Model::tasks`] takes `duration_s(k)` seconds.
    pub fn schedule(&self, duration_s: impl Fn(usize) -> f64) -> Schedule {
        let mut clock = Clock {
            model: self,
            job_start_s: vec![None; self.jobs.len()],
            stage_start_s: vec![None; self.stages.len()],
            last_task_s: vec![None; self.stages.len()],
        };
        let mut start_s = vec![0.0; self.tasks.len()];
        let mut end_s = vec![0.0; self.tasks.len()];
        for (k, task) in self.tasks.iter().enumerate() {
            let submitted_s = clock.stage_start_s(task.stage);
            let free_s = task.before.map_or(f64::NEG_INFINITY, |before: usize| end_s[before]);
            start_s[k] = if task.slot_was_busy {
                submitted_s.max(free_s + task.lag_s)
            } else {
                free_s.max(submitted_s + task.lag_s)
            };
            end_s[k] = start_s[k] + duration_s(k);
            if task.counts {
                let last_s = &mut clock.last_task_s[task.stage];
                *last_s = Some(last_s.map_or(end_s[k], |last_s| last_s.max(end_s[k])));
            }
        }
        let stages_s: Vec<[f64; 2]> = (0..self.stages.len())
            .map(|stage| [clock.stage_start_s(stage), clock.stage_end_s(stage)])
            .collect();
        let job_s = |(index, job): (usize, &crate::model::Job)| {
            let last_s = job.stages.iter().map(|&stage| stages_s[stage][1]).fold(0.0, f64::max);
            [clock.job_start_s(index), last_s + job.tail_s]
        };
        let jobs_s: Vec<[f64; 2]> = self.jobs.iter().enumerate().map(job_s).collect();
        let end_s = jobs_s.iter().chain(&stages_s).map(|times| times[1]).fold(0.0, f64::max);
        Schedule { task_start_s: start_s, stages_s, jobs_s, end_s }
    }
}

impl Model {
    /// The largest difference between the end of a stage or job in a schedule and in the log, as a
    /// share of the application's time.
    pub fn error(&self, schedule: &Schedule) -> f64 {
        let stages =
            self.stages.iter().zip(&schedule.stages_s).map(|(a, b)| (a.logged_end_s - b[1]).abs());
        let jobs =
            self.jobs.iter().zip(&schedule.jobs_s).map(|(a, b)| (a.logged_end_s - b[1]).abs());
        stages.chain(jobs).fold(0.0, f64::max) / self.logged_s.max(f64::MIN_POSITIVE)
    }
}

/// What is known of a schedule in the making. Causes come before what they cause, because they did
/// so in the log.
struct Clock<'a> {
    model: &'a Model,
    job_start_s: Vec<Option<f64>>,
    stage_start_s: Vec<Option<f64>>,
    /// The end of the last task so far of each stage.
    last_task_s: Vec<Option<f64>>,
}

impl Clock<'_> {
    fn stage_start_s(&mut self, stage: usize) -> f64 {
        if let Some(known) = self.stage_start_s[stage] {
            return known;
        }
        let it = &self.model.stages[stage];
        let mut start_s = match (it.after, it.job) {
            (Some(after), _) => self.after_s(after),
            (None, Some(job)) => self.job_start_s(job) + it.lag_s,
            (None, None) => it.logged_start_s,
        };
        for &parent in &it.parents {
            start_s = start_s.max(self.stage_end_s(parent));
        }
        self.stage_start_s[stage] = Some(start_s);
        start_s
    }

    fn job_start_s(&mut self, job: usize) -> f64 {
        if let Some(known) = self.job_start_s[job] {
            return known;
        }
        let start_s = self.after_s(self.model.jobs[job].after);
        self.job_start_s[job] = Some(start_s);
        start_s
    }

    fn after_s(&self, after: After) -> f64 {
        after.stage.map_or(0.0, |stage| self.stage_end_s(stage)) + after.lag_s
    }

    fn stage_end_s(&self, stage: usize) -> f64 {
        let it = &self.model.stages[stage];
        self.last_task_s[stage].map_or(it.logged_end_s, |last_s| last_s + it.tail_s)
    }
}
