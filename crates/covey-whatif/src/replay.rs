//! Replays applications on a network in a closed loop: tasks take slots, fetch and compute, so that
//! a slower or faster network moves all that follows.
//!
//! The simulator takes fetches with their starts, and says when they end. The schedule takes the
//! times of fetches, and says when they start. A replay alternates between the two until nothing
//! moves: then the starts are those that follow from the ends. It gets there because causes come
//! before effects: what is right up to some time stays right, and with it the next starts.

use covey_experiment::{Error, Experiment, Progress, Setup};
use covey_trace::{Coflow, Flow, Workload};

use crate::model::Model;
use crate::schedule::Schedule;

/// How a task's fetching and computing go together. Logs do not say; the truth is between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// A task computes on what it has while it fetches the rest: it takes the longer of the two
    /// times, and waits of the log would have vanished on a fast enough network.
    Whole,
    /// A task computes when it has all: it takes the sum of the two times, and at least the log's
    /// wait.
    None,
}

impl Overlap {
    /// Both.
    pub const BOTH: [Overlap; 2] = [Overlap::Whole, Overlap::None];

    fn duration_s(self, compute_s: f64, wait_s: f64, fetch_s: f64) -> f64 {
        match self {
            Overlap::Whole => compute_s.max(fetch_s),
            Overlap::None => compute_s + wait_s.max(fetch_s),
        }
    }
}

/// An application on the shared hosts.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// The application.
    pub model: &'a Model,
    /// Its start, in seconds after that of the replay.
    pub offset_s: f64,
    /// The port of each of its hosts.
    pub ports: Vec<u32>,
    /// Bytes on the wire for each byte of the log, of each of its coflows.
    pub factors: Vec<f64>,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The schedule of each application, in seconds after its own start.
    pub schedules: Vec<Schedule>,
    /// Rounds until nothing moved.
    pub rounds: u32,
    /// The largest move of a task's start in the last round, in seconds; above [`TOLERANCE_S`] if
    /// it never settled.
    pub moved_s: f64,
}

/// Moves below this are none, in seconds: that is the resolution of logs.
pub const TOLERANCE_S: f64 = 1e-3;
/// Rounds at most.
const MAX_ROUNDS: u32 = 200;
/// Flows of a replay at most.
pub const MAX_FLOWS: usize = 2_000_000;

/// One fetch of the workload: its application, and its task there.
type OfTask = (usize, usize);

/// The fetches of applications as a workload, and of which task each flow is.
pub(crate) struct Fetching {
    pub(crate) workload: Workload,
    /// For each coflow: the task of each flow.
    tasks: Vec<Vec<OfTask>>,
}

impl Fetching {
    pub(crate) fn of(placed: &[Placed<'_>], ports: u32) -> Fetching {
        let (mut coflows, mut tasks) = (Vec::new(), Vec::new());
        for (application, it) in placed.iter().enumerate() {
            for (coflow, factor) in it.model.coflows.iter().zip(&it.factors) {
                let (mut flows, mut of_flows) = (Vec::new(), Vec::new());
                for fetch in &coflow.fetches {
                    let [src, dst] = [fetch.src, fetch.dst].map(|host| it.ports[host as usize]);
                    // Hosts that were put together exchange nothing over the network.
                    if src != dst {
                        flows.push(Flow { src, dst, bytes: fetch.bytes * factor, start_s: 0.0 });
                        of_flows.push((application, fetch.task));
                    }
                }
                if !flows.is_empty() {
                    let (stage, attempt) = it.model.stages[coflow.stage].id;
                    let id = format!("{application}: {} stage {stage}.{attempt}", it.model.file);
                    coflows.push(Coflow::new(id, 0.0, flows));
                    tasks.push(of_flows);
                }
            }
        }
        Fetching { workload: Workload::new(ports, coflows), tasks }
    }

    /// Sets when flows start: with their tasks.
    pub(crate) fn start(&mut self, placed: &[Placed<'_>], schedules: &[Schedule]) {
        for (coflow, tasks) in self.workload.coflows.iter_mut().zip(&self.tasks) {
            let start = |&(application, task): &OfTask| {
                placed[application].offset_s + schedules[application].task_start_s[task]
            };
            coflow.arrival_s = tasks.iter().map(start).fold(f64::INFINITY, f64::min);
            for (flow, task) in coflow.flows.iter_mut().zip(tasks) {
                flow.start_s = start(task) - coflow.arrival_s;
            }
        }
    }
}

/// Replays applications under the policy `spec` on the network of `setup`, among `ports` hosts.
///
/// # Errors
/// Those of [`Experiment::run`].
pub fn replay(
    placed: &[Placed<'_>],
    ports: u32,
    setup: &Setup,
    spec: &str,
    overlap: Overlap,
    progress: &dyn Progress,
) -> Result<Replayed, Error> {
    let mut fetching = Fetching::of(placed, ports);
    let (network, workload) = setup.place(std::mem::take(&mut fetching.workload), |_| {})?;
    fetching.workload = workload;
    let mut fetch_s: Vec<Vec<f64>> =
        placed.iter().map(|it| it.model.tasks.iter().map(|task| task.wait_s).collect()).collect();
    let schedule = |fetch_s: &[Vec<f64>]| -> Vec<Schedule> {
        let of_one = |(it, fetch_s): (&Placed<'_>, &Vec<f64>)| {
            it.model.schedule(|k| {
                let task = &it.model.tasks[k];
                overlap.duration_s(task.compute_s, task.wait_s, fetch_s[k])
            })
        };
        placed.iter().zip(fetch_s).map(of_one).collect()
    };
    let mut schedules = schedule(&fetch_s);
    let (mut rounds, mut moved_s) = (0, 0.0);
    while rounds < MAX_ROUNDS && !fetching.workload.coflows.is_empty() {
        rounds += 1;
        fetching.start(placed, &schedules);
        let experiment = Experiment::on(network.clone(), &fetching.workload, "replay", setup)?;
        let runs = experiment.run(vec![setup.contender(spec)?], false, 1, progress)?;
        let outcome = runs[0].outcome();
        fetch_s.iter_mut().flatten().for_each(|seconds| *seconds = 0.0);
        let mut ends = outcome.flow_completion_s.iter().zip(&outcome.flow_start_s);
        for &(application, task) in fetching.tasks.iter().flatten() {
            let Some((end_s, start_s)) = ends.next() else { break };
            let seconds = &mut fetch_s[application][task];
            *seconds = seconds.max(end_s - start_s);
        }
        let next = schedule(&fetch_s);
        moved_s =
            schedules.iter().zip(&next).map(|(old, new)| old.moved_s(new)).fold(0.0, f64::max);
        schedules = next;
        if moved_s < TOLERANCE_S {
            break;
        }
    }
    Ok(Replayed { schedules, rounds, moved_s })
}

impl Schedule {
    /// The largest difference of the start of a task.
    fn moved_s(&self, other: &Schedule) -> f64 {
        let moves = self.task_start_s.iter().zip(&other.task_start_s).map(|(a, b)| (a - b).abs());
        moves.chain([(self.end_s - other.end_s).abs()]).fold(0.0, f64::max)
    }
}
