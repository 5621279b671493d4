//! Makes an application of the events of its log.

use std::collections::BTreeMap;

use crate::application::{Application, Output, Stage, Task};
use crate::event::{Event, JobStart, Metrics, Rdd, StageInfo, TaskEnd};

/// Most tasks of a log: 2.5 GB of memory.
const MAX_TASKS: usize = 20_000_000;
/// Properties that matter here.
const PROPERTIES: [&str; 6] = [
    "spark.io.compression.codec",
    "spark.shuffle.compress",
    "spark.shuffle.manager",
    "spark.shuffle.push.enabled",
    "spark.plugins",
    "spark.databricks.clusterUsageTags.sparkVersion",
];

/// An application as far as its log has been read.
#[derive(Default)]
pub(crate) struct Builder {
    application: Application,
    hosts: Names,
    executors: Names,
    first_ms: Option<u64>,
    last_ms: u64,
    started_ms: Option<u64>,
    ended_ms: Option<u64>,
    /// Tasks beyond [`MAX_TASKS`].
    pub left_out: u64,
}

/// Names by number, in order of appearance.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The names in order of appearance.
    fn list(&self) -> Vec<String> {
        let mut names: Vec<_> = self.numbers.iter().collect();
        names.sort_unstable_by_key(|(_, number)| **number);
        names.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Builder {
    /// Takes the next event.
    pub fn take(&mut self, event: Event<'_>) {
        let application = &mut self.application;
        match event {
            Event::TaskEnd(task) => self.task(&task),
            Event::StageSubmitted(event) => {
                self.stage(&event.stage);
                self.time(event.stage.submitted_ms);
            }
            Event::StageCompleted(event) => {
                self.stage(&event.stage);
                self.time(event.stage.completed_ms);
            }
            Event::JobStart(job) => self.job(job),
            Event::JobEnd(end) => {
                self.time(Some(end.time_ms));
                let job = self.application.jobs.entry(end.id).or_default();
                job.completed_ms = Some(end.time_ms);
            }
            Event::LogStart(start) => application.version = Some(start.version.into_owned()),
            Event::Environment(environment) => {
                for name in PROPERTIES {
                    let found = environment.properties.get(name);
                    if let Some(text) = found.and_then(|value| value.as_str()) {
                        application.properties.insert(name.to_owned(), text.to_owned());
                    }
                }
            }
            Event::ApplicationStart(start) => {
                application.name = start.name.into_owned();
                application.id = start.id.map_or_else(String::new, |id| id.into_owned());
                self.started_ms = Some(start.time_ms);
                self.time(Some(start.time_ms));
            }
            Event::ApplicationEnd(end) => {
                self.ended_ms = Some(end.time_ms);
                self.time(Some(end.time_ms));
            }
            Event::Other => {}
        }
    }

    /// Whether anything has been read of which an application is made.
    pub fn has_application(&self) -> bool {
        self.first_ms.is_some()
    }

    fn time(&mut self, ms: Option<u64>) {
        let Some(ms) = ms.filter(|&ms| ms > 0) else { return };
        self.first_ms = Some(self.first_ms.map_or(ms, |first| first.min(ms)));
        self.last_ms = self.last_ms.max(ms);
    }

    fn job(&mut self, start: JobStart) {
        self.time(Some(start.time_ms));
        for outline in &start.stages {
            self.rdds(outline.id, &outline.rdds);
        }
        let mut stages = start.stage_ids;
        stages.extend(start.stages.iter().map(|outline| outline.id));
        stages.sort_unstable();
        stages.dedup();
        let job = self.application.jobs.entry(start.id).or_default();
        job.submitted_ms = start.time_ms;
        job.stages = stages;
    }

    /// Notes the RDDs of a stage.
    fn rdds(&mut self, stage: u32, rdds: &[Rdd]) {
        let mut set: Vec<u32> = rdds.iter().map(|rdd| rdd.id).collect();
        set.sort_unstable();
        set.dedup();
        let sets = &mut self.application.rdd_sets;
        let next = sets.len() as u32;
        let number = *sets.entry(set).or_insert(next);
        self.application.rdds_of.insert(stage, number);
    }

    fn stage(&mut self, info: &StageInfo<'_>) {
        self.rdds(info.id, &info.rdds);
        let stage = self.application.stages.entry((info.id, info.attempt)).or_default();
        stage.submitted_ms = info.submitted_ms.or(stage.submitted_ms);
        stage.completed_ms = info.completed_ms.or(stage.completed_ms);
        stage.parents.clone_from(&info.parents);
        let is_data_size = |name: &str| name == "data size";
        let sizes =
            info.accumulables.iter().filter(|it| it.name.as_deref().is_some_and(is_data_size));
        let sizes: Vec<u64> = sizes.filter_map(|it| it.number()).collect();
        // A stage with several exchanges is none of which the raw bytes are known.
        if let [bytes] = sizes[..] {
            stage.data_bytes = Some(bytes);
        }
    }

    fn task(&mut self, end: &TaskEnd<'_>) {
        if self.application.tasks.len() >= MAX_TASKS {
            self.left_out += 1;
            return;
        }
        let info = &end.info;
        let nothing = Metrics::default();
        let metrics = end.metrics.as_ref().unwrap_or(&nothing);
        let (read, write) = (metrics.read.as_ref(), metrics.write.as_ref());
        let host = self.hosts.number(&info.host);
        let success = end.reason.name == "Success";
        let task = Task {
            index: info.index,
            host,
            executor: self.executors.number(&info.executor),
            success,
            speculative: info.speculative,
            launch_ms: info.launch_ms,
            finish_ms: info.finish_ms.max(info.launch_ms),
            run_ms: metrics.run_ms,
            wait_ms: read.map_or(0, |read| read.wait_ms),
            remote: read.map_or(0, |read| read.remote),
            local: read.map_or(0, |read| read.local),
            remote_blocks: read.map_or(0, |read| read.remote_blocks),
            local_blocks: read.map_or(0, |read| read.local_blocks),
        };
        let number = self.application.tasks.len() as u32;
        self.application.tasks.push(task);
        let stage = self.application.stages.entry((end.stage, end.attempt)).or_default();
        stage.tasks.push(number);
        if success {
            let (bytes, records) = write.map_or((0, 0), |write| (write.bytes, write.records));
            let known = self.application.outputs.get(&end.stage);
            let wrote = known.is_some_and(|outputs| outputs.contains_key(&info.index));
            if bytes > 0 || wrote {
                let outputs = self.application.outputs.entry(end.stage).or_default();
                outputs.insert(info.index, Output { host, bytes, records });
            }
        }
        self.time(Some(info.launch_ms));
        self.time(Some(info.finish_ms));
    }

    /// The application, with its hosts in the order of their names.
    pub fn finish(self) -> Application {
        let Builder { mut application, hosts, executors, .. } = self;
        application.start_ms = self.started_ms.or(self.first_ms).unwrap_or(0);
        application.end_ms = self.ended_ms.unwrap_or(self.last_ms).max(application.start_ms);
        application.ended = self.ended_ms.is_some();
        application.executors = executors.list();
        let mut order: Vec<u32> = vec![0; hosts.numbers.len()];
        for (place, number) in (0..).zip(hosts.numbers.values()) {
            order[*number as usize] = place;
        }
        application.hosts = hosts.numbers.into_keys().collect();
        for task in &mut application.tasks {
            task.host = order[task.host as usize];
        }
        for output in application.outputs.values_mut().flat_map(BTreeMap::values_mut) {
            output.host = order[output.host as usize];
        }
        // Stages that never ran are in the log of each job again, and need no tasks.
        application.stages.retain(|_, stage| *stage != Stage::default());
        application
    }
}
