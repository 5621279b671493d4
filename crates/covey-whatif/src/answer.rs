//! The answer: what logs say, and what their replays would have saved.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_experiment::{Error, Progress, Setup, baseline, parallel};
use covey_report::{Bar, JobTimes, LinkUse, LogSums, Range, Replay, WhatIf};
use covey_spark::{Log, Status};

use crate::codec::{self, LOGGED};
use crate::links::link_use;
use crate::model::Model;
use crate::offsets::{Offsets, are_apart};
use crate::replay::{MAX_FLOWS, Overlap, Placed, Replayed, TOLERANCE_S, replay};
use crate::sentence::sentence;
use crate::sums::sums;

/// What is asked about logs. Quantities are texts as users write them.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Speeds of the hosts' links, separated by commas: the cluster's own first.
    pub link_rates: String,
    /// The network, in a form of [`Setup::fabric`].
    pub fabric: String,
    /// Number of hosts, onto which those of each application are put in turn; `None` for the hosts
    /// by name.
    pub hosts: Option<u32>,
    /// The policies; comparisons are with `fair`, or else the first.
    pub policies: String,
    /// How applications are laid over one another.
    pub offsets: Offsets,
    /// Further codecs, separated by commas.
    pub codecs: String,
    /// Seed of random offsets, and of policies with a seed.
    pub seed: u64,
    /// Replays at a time.
    pub jobs: usize,
}

impl Default for Question {
    fn default() -> Question {
        Question {
            link_rates: "10gbps,1gbps".to_owned(),
            fabric: covey_experiment::FABRIC.to_owned(),
            hosts: None,
            policies: "fair,covey,sebf".to_owned(),
            offsets: Offsets::Clock,
            codecs: String::new(),
            seed: 1,
            jobs: 1,
        }
    }
}

/// One row of the replays.
struct Row {
    setup: Setup,
    rate_bps: f64,
    codec: String,
    policy: String,
    /// Index of the row with which it is compared.
    base: usize,
}

/// What one replay of a row found.
struct Found {
    /// The time of each job of each application.
    jobs_s: Vec<f64>,
    makespan_s: f64,
    busy: f64,
    moved_s: f64,
}

/// What all replays found. An answer gets all of it, or nothing if a replay fails.
struct Findings {
    /// Number of applications that were replayed together.
    applications: usize,
    replays: Vec<Replay>,
    jobs: Vec<JobTimes>,
    timeline: Vec<Bar>,
    links: Vec<LinkUse>,
    /// A note on replays that did not settle.
    unsettled: Option<String>,
    /// How far each application's replay alone is from its log.
    errors: Vec<Range>,
}

/// The applications on shared hosts.
struct Cluster<'a> {
    models: &'a [Model],
    /// The codec in use of each.
    used: Vec<String>,
    /// The port of each host of each.
    ports: Vec<Vec<u32>>,
    /// The names of the hosts, port by port.
    hosts: Vec<String>,
}

impl Question {
    /// Checks the question before logs are read.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), Error> {
        self.rows().map(|_| ())
    }

    fn rows(&self) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        let codecs = codec::codecs(&self.codecs)?;
        for rate in self.link_rates.split(',') {
            let setup = Setup {
                fabric: self.fabric.clone(),
                port_rate: Some(rate.trim().to_owned()),
                seed: Some(self.seed),
                ..Setup::default()
            };
            let rename = |error| match error {
                Error::Argument { argument: "port-rate", problem } => {
                    Error::Argument { argument: "link-rate", problem }
                }
                other => other,
            };
            let rate_bps = setup.port_rate().map_err(rename)? * 8.0;
            setup.network(self.hosts.unwrap_or(1))?;
            let mut contenders = setup.contenders(&self.policies)?;
            let first = baseline(None, &contenders)?;
            contenders.rotate_left(first);
            let base = rows.len();
            for codec in std::iter::once(LOGGED.to_owned()).chain(codecs.iter().cloned()) {
                for contender in &contenders {
                    let (codec, policy) = (codec.clone(), contender.label.clone());
                    rows.push(Row { setup: setup.clone(), rate_bps, codec, policy, base });
                }
            }
        }
        Ok(rows)
    }

    /// Answers the question about logs. Logs whose shuffles are not known count in the sums only.
    /// If the simulator cannot take the replay, the answer has the sums of the logs, and a note
    /// says why there is no more.
    ///
    /// # Errors
    /// What is wrong with the question, or why a simulation failed.
    pub fn answer(&self, logs: &[Log], progress: &dyn Progress) -> Result<WhatIf, Error> {
        let rows = self.rows()?;
        let mut whatif = WhatIf {
            logs: logs.iter().map(sums).collect(),
            fabric: self.fabric.clone(),
            ..WhatIf::default()
        };
        let replayable: Vec<usize> =
            (0..logs.len()).filter(|&k| logs[k].status == Status::Success).collect();
        let models: Vec<Model> = replayable.iter().map(|&k| Model::of(&logs[k])).collect();
        let flows: usize =
            models.iter().flat_map(|model| &model.coflows).map(|it| it.fetches.len()).sum();
        if flows > MAX_FLOWS {
            whatif.notes.push(format!(
                "Nothing was replayed: the logs have {flows} fetches, more than {MAX_FLOWS}. Give fewer logs."
            ));
        } else if !models.is_empty() {
            let replayed: Vec<&LogSums> = replayable.iter().map(|&k| &whatif.logs[k]).collect();
            let used = replayed.iter().map(|log| log.codec.clone()).collect();
            let repeated = repeated(&replayed);
            whatif.notes.extend(repeated);
            let cluster = Cluster::new(&models, used, self.hosts);
            let found = self
                .lay_out(&cluster, &rows[0], &mut whatif)
                .and_then(|draws| self.replay_all(&cluster, &rows, &draws, progress));
            match found {
                Ok(found) => found.add_to(&mut whatif, &replayable),
                // What the simulator cannot take is no fault of the question.
                Err(error) if matches!(error, Error::Sim(_)) && error.is_input() => {
                    whatif.notes.push(format!("Nothing was replayed: {error}."));
                }
                Err(error) => return Err(error),
            }
        }
        notes(&mut whatif);
        whatif.answer = sentence(&whatif);
        Ok(whatif)
    }

    /// Lays the applications over one another, and says in `whatif` how. Returns the draws: the
    /// start of each application, in seconds.
    fn lay_out(
        &self,
        cluster: &Cluster<'_>,
        row: &Row,
        whatif: &mut WhatIf,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let draws = self.offsets.draw(cluster.models, self.seed)?;
        whatif.replay_hosts = cluster.hosts.len();
        whatif.draws = draws.len();
        whatif.offsets = self.offsets.describe(cluster.models, self.seed);
        if cluster.models.len() == 1 && self.offsets != Offsets::Clock {
            whatif.notes.push("--offsets has no effect: there is one application.".to_owned());
        }
        if cluster.models.len() > 1
            && draws.iter().all(|starts_s| are_apart(cluster.models, starts_s))
        {
            let note = "No two applications were there at the same time; --offsets random:20 lays them over one another.";
            whatif.notes.push(note.to_owned());
        }
        let nothing = covey_trace::Workload::new(cluster.hosts.len() as u32, Vec::new());
        let _ = row.setup.place(nothing, |line| whatif.notes.push(format!("{line}.")))?;
        Ok(draws)
    }

    /// All replays: of the applications together, once for each row and draw, and of each alone.
    fn replay_all(
        &self,
        cluster: &Cluster<'_>,
        rows: &[Row],
        draws: &[Vec<f64>],
        progress: &dyn Progress,
    ) -> Result<Findings, Error> {
        let of_rows = self.replay_together(cluster, rows, draws, progress)?;
        let all = || of_rows.iter().flatten();
        let unsettled = all().filter(|it| it.moved_s >= TOLERANCE_S);
        let (count, moved_s) =
            unsettled.fold((0, 0.0), |(n, most), it| (n + 1, it.moved_s.max(most)));
        let unsettled = (count > 0).then(|| {
            let all = all().count();
            format!(
                "{count} of {all} replays did not settle: starts of tasks still moved by up to {moved_s:.3} s."
            )
        });
        let (timeline, links) = cluster.draw(&rows[0], &draws[0], progress)?;
        Ok(Findings {
            applications: cluster.models.len(),
            replays: rows
                .iter()
                .zip(&of_rows)
                .map(|(row, found)| summary(row, found, &of_rows[row.base]))
                .collect(),
            jobs: cluster.jobs(&of_rows),
            timeline,
            links,
            unsettled,
            errors: replay_alone(cluster, &rows[0], progress)?,
        })
    }

    /// Replays all applications together, once for each row and draw. Returns what the replays of
    /// each row found.
    fn replay_together(
        &self,
        cluster: &Cluster<'_>,
        rows: &[Row],
        draws: &[Vec<f64>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Found>>, Error> {
        let failed = AtomicBool::new(false);
        let mut found: Vec<Vec<Option<Result<Found, Error>>>> = Vec::new();
        let each = draws.len() * Overlap::BOTH.len();
        found.resize_with(rows.len(), || (0..each).map(|_| None).collect());
        let mut tasks: Vec<parallel::Task<'_>> = Vec::new();
        for (row, slots) in rows.iter().zip(&mut found) {
            let variants =
                draws.iter().flat_map(|starts_s| Overlap::BOTH.map(|overlap| (starts_s, overlap)));
            for ((starts_s, overlap), slot) in variants.zip(slots) {
                let failed = &failed;
                tasks.push(Box::new(move || {
                    if !failed.load(Ordering::Relaxed) {
                        let result = cluster.replay(row, starts_s, overlap, progress);
                        failed.fetch_or(result.is_err(), Ordering::Relaxed);
                        *slot = Some(result);
                    }
                }));
            }
        }
        parallel::run(tasks, self.jobs);
        found.into_iter().map(|slots| slots.into_iter().flatten().collect()).collect()
    }
}

/// Replays each application alone without scheduling. Returns how far each is from its log.
fn replay_alone(
    cluster: &Cluster<'_>,
    row: &Row,
    progress: &dyn Progress,
) -> Result<Vec<Range>, Error> {
    let mut all = Vec::new();
    for model in cluster.models {
        let hosts = model.hosts.len() as u32;
        let placed = Placed {
            model,
            offset_s: 0.0,
            ports: (0..hosts).collect(),
            factors: vec![1.0; model.coflows.len()],
        };
        let mut errors = Vec::new();
        for overlap in Overlap::BOTH {
            let placed = std::slice::from_ref(&placed);
            let replayed = replay(placed, hosts, &row.setup, &row.policy, overlap, progress)?;
            errors.push(model.error(&replayed.schedules[0]));
        }
        all.push(range(errors.into_iter()));
    }
    Ok(all)
}

impl Findings {
    /// Moves all into an answer. `replayed` has the indices of the logs that were replayed.
    fn add_to(self, whatif: &mut WhatIf, replayed: &[usize]) {
        whatif.applications = self.applications;
        whatif.replays = self.replays;
        whatif.jobs = self.jobs;
        whatif.timeline = self.timeline;
        whatif.links = self.links;
        whatif.notes.extend(self.unsettled);
        for (&k, error) in replayed.iter().zip(self.errors) {
            whatif.logs[k].replay_error = Some(error);
        }
    }
}

impl<'a> Cluster<'a> {
    fn new(models: &'a [Model], used: Vec<String>, hosts: Option<u32>) -> Cluster<'a> {
        let names: BTreeSet<&String> = models.iter().flat_map(|model| &model.hosts).collect();
        let by_name =
            |name: &String| names.iter().position(|known| *known == name).unwrap_or(0) as u32;
        let ports = models.iter().map(|model| match hosts {
            Some(hosts) => (0..model.hosts.len() as u32).map(|host| host % hosts).collect(),
            None => model.hosts.iter().map(by_name).collect(),
        });
        let ports = ports.collect();
        let hosts = match hosts {
            Some(hosts) => (1..=hosts).map(|host| format!("host {host}")).collect(),
            None => names.into_iter().cloned().collect(),
        };
        Cluster { models, used, ports, hosts }
    }

    /// The applications under a row.
    fn all_placed(&self, row: &Row, starts_s: &[f64], overlap: Overlap) -> Vec<Placed<'a>> {
        (0..self.models.len()).map(|k| self.placed(k, row, starts_s[k], overlap)).collect()
    }

    /// The times of jobs under each row, in the first draw.
    fn jobs(&self, of_rows: &[Vec<Found>]) -> Vec<JobTimes> {
        let mut times = Vec::new();
        for (replay, found) in of_rows.iter().enumerate() {
            let firsts = &found[..Overlap::BOTH.len()];
            let jobs =
                self.models.iter().flat_map(|model| model.jobs.iter().map(move |job| (model, job)));
            for (k, (model, job)) in jobs.enumerate() {
                times.push(JobTimes {
                    file: model.file.clone(),
                    job: job.id,
                    logged_s: job.logged_end_s - job.logged_start_s,
                    replay,
                    job_s: range(firsts.iter().map(|it| it.jobs_s[k])),
                });
            }
        }
        times
    }

    /// What the page draws: stages and the use of links over time, in a row's first replay.
    fn draw(
        &self,
        row: &Row,
        starts_s: &[f64],
        progress: &dyn Progress,
    ) -> Result<(Vec<Bar>, Vec<LinkUse>), Error> {
        let overlap = Overlap::BOTH[0];
        let placed = self.all_placed(row, starts_s, overlap);
        let ports = self.hosts.len() as u32;
        let schedules =
            replay(&placed, ports, &row.setup, &row.policy, overlap, progress)?.schedules;
        let links = link_use(&placed, &self.hosts, &row.setup, &row.policy, &schedules, progress)?;
        Ok((timeline(&placed, &schedules), links))
    }

    fn replay(
        &self,
        row: &Row,
        starts_s: &[f64],
        overlap: Overlap,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let placed = self.all_placed(row, starts_s, overlap);
        let ports = self.hosts.len() as u32;
        let replayed = replay(&placed, ports, &row.setup, &row.policy, overlap, progress)?;
        let Replayed { schedules, moved_s, .. } = replayed;
        let ends = placed.iter().zip(&schedules).map(|(it, schedule)| it.offset_s + schedule.end_s);
        let first_s = starts_s.iter().copied().fold(f64::INFINITY, f64::min);
        let makespan_s = ends.fold(0.0, f64::max) - first_s;
        let jobs = schedules.iter().flat_map(|schedule| &schedule.jobs_s);
        Ok(Found {
            jobs_s: jobs.map(|[start_s, end_s]| end_s - start_s).collect(),
            makespan_s,
            busy: busiest_s(&placed, ports, row.rate_bps) / makespan_s,
            moved_s,
        })
    }

    /// The application with index `k` under a row. Where another codec's bytes are a range, the
    /// replay that hides fetching takes the most and the other one the least, so that the two
    /// differ most.
    fn placed(&self, k: usize, row: &Row, offset_s: f64, overlap: Overlap) -> Placed<'a> {
        let model = &self.models[k];
        let factors = model.coflows.iter().map(|coflow| {
            let [least, most] =
                codec::factors(&self.used[k], &row.codec, coflow).unwrap_or([1.0, 1.0]);
            if overlap == Overlap::Whole { most } else { least }
        });
        let factors = factors.collect();
        Placed { model, offset_s, ports: self.ports[k].clone(), factors }
    }
}

/// Seconds that the busiest link of a host needs for all bytes.
fn busiest_s(placed: &[Placed<'_>], hosts: u32, rate_bps: f64) -> f64 {
    let mut bytes = vec![[0.0; 2]; hosts as usize];
    for it in placed {
        for (coflow, factor) in it.model.coflows.iter().zip(&it.factors) {
            for fetch in &coflow.fetches {
                let [src, dst] =
                    [fetch.src, fetch.dst].map(|host| it.ports[host as usize] as usize);
                if src != dst {
                    bytes[src][0] += fetch.bytes * factor;
                    bytes[dst][1] += fetch.bytes * factor;
                }
            }
        }
    }
    bytes.into_iter().flatten().fold(0.0, f64::max) * 8.0 / rate_bps
}

fn timeline(placed: &[Placed<'_>], schedules: &[crate::Schedule]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (application, (it, schedule)) in placed.iter().zip(schedules).enumerate() {
        for (index, (stage, [start_s, end_s])) in
            it.model.stages.iter().zip(&schedule.stages_s).enumerate()
        {
            let reads = it.model.coflows.iter().filter(|coflow| coflow.stage == index);
            let remote =
                reads.flat_map(|coflow| &coflow.fetches).map(|fetch| fetch.bytes as u64).sum();
            let name = format!("{}, stage {}", it.model.file, stage.id.0);
            let (start_s, end_s) = (it.offset_s + start_s, it.offset_s + end_s);
            bars.push(Bar { name, application, start_s, end_s, remote });
        }
    }
    bars
}

/// One row, in comparison with its base.
fn summary(row: &Row, found: &[Found], base: &[Found]) -> Replay {
    let total_s = |it: &Found| it.jobs_s.iter().sum::<f64>();
    let saved =
        |now_s: f64, before_s: f64| if before_s > 0.0 { 1.0 - now_s / before_s } else { 0.0 };
    let pairs = || found.iter().zip(base);
    let of_jobs = pairs().flat_map(|(now, before)| now.jobs_s.iter().zip(&before.jobs_s));
    Replay {
        link_rate_bps: row.rate_bps,
        codec: row.codec.clone(),
        policy: row.policy.clone(),
        job_s: range(found.iter().map(|it| total_s(it) / it.jobs_s.len().max(1) as f64)),
        sooner: range(pairs().map(|(now, before)| saved(total_s(now), total_s(before)))),
        best_job_sooner: of_jobs
            .map(|(now_s, before_s)| saved(*now_s, *before_s))
            .fold(0.0, f64::max),
        makespan_s: range(found.iter().map(|it| it.makespan_s)),
        busy: range(found.iter().map(|it| it.busy)),
    }
}

/// Says which applications were given more than once.
fn repeated(logs: &[&LogSums]) -> Vec<String> {
    let same =
        |a: &LogSums, b: &LogSums| !a.application.is_empty() && a.application == b.application;
    let note = |(k, log): (usize, &&LogSums)| {
        let first = logs[..k].iter().find(|earlier| same(earlier, log))?;
        Some(format!(
            "{} and {} are of one application, {}, which counts twice.",
            first.file, log.file, log.application
        ))
    };
    logs.iter().enumerate().filter_map(note).collect()
}

/// The least and the greatest.
fn range(values: impl Iterator<Item = f64>) -> Range {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| {
        [least.min(value), most.max(value)]
    })
}

/// Says what was assumed.
fn notes(whatif: &mut WhatIf) {
    let of_version = |log: &LogSums| {
        let mut parts =
            log.version.as_deref()?.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        Some((parts.next()?, parts.next().unwrap_or(0)))
    };
    let versions: Vec<_> = whatif.logs.iter().filter_map(of_version).collect();
    let counts_connecting = |version: &&(u32, u32)| **version >= (4, 1);
    match versions.iter().filter(counts_connecting).count() {
        0 => {}
        later if later == versions.len() => whatif.notes.push(
            "Waiting: from Spark 4.1 on it includes the time in which requests are sent and connections are made."
                .to_owned(),
        ),
        _ => whatif.notes.push(
            "Waiting: from Spark 4.1 on it includes the time in which requests are sent and connections are made, so \
             the shares of these logs cannot be compared with those of earlier versions."
                .to_owned(),
        ),
    }
    if !whatif.replays.is_empty() {
        let note = "Estimates: the least and the most, over how far tasks compute while they fetch";
        let over = if whatif.draws > 1 { ", and over the starts of applications." } else { "." };
        whatif.notes.push(format!("{note}{over}"));
    }
    if whatif.replays.iter().any(|row| row.codec != LOGGED) {
        whatif.notes.push("Other codecs: their bytes are a range of ratios; their time of processors is left out.".to_owned());
    }
}
