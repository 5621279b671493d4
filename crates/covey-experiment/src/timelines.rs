//! Timelines of policies, with explanations of the slowest coflows, for the page of a comparison.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use covey_report::{Explained, Run, Sendings, Timelines};
use covey_sim::{Observer, Round, Timeline};
use covey_trace::results::Explanation;

use crate::parallel::{self, Task};
use crate::{Contender, Error, Experiment, Progress};

/// The number of coflows that are explained because no others are slower, for each policy.
const SLOWEST: usize = 60;

/// Records what ports send and receive in one simulation.
#[derive(Debug)]
struct Recorder {
    timeline: Timeline,
    sendings: Sendings,
}

impl Observer for Recorder {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.timeline.round(round)?;
        self.timeline.take_spans().for_each(|span| self.sendings.add(&span));
        ControlFlow::Continue(())
    }
}

/// What contenders send, recorded while they are simulated.
pub struct Recordings(Vec<Arc<Mutex<Recorder>>>);

impl Recordings {
    /// Records the simulations of contenders.
    pub fn of(contenders: Vec<Contender>) -> (Vec<Contender>, Recordings) {
        let watched = contenders.into_iter().map(|contender| {
            let recorder =
                Recorder { timeline: Timeline::at_both_ends(), sendings: Sendings::default() };
            let recorder = Arc::new(Mutex::new(recorder));
            (contender.watched_by(Box::new(Arc::clone(&recorder))), recorder)
        });
        let (contenders, recorders) = watched.unzip();
        (contenders, Recordings(recorders))
    }

    /// The timelines of the runs that were recorded, with explanations of the coflows `named` and
    /// of the slowest ones. `again` has the same contenders, made again.
    ///
    /// # Errors
    /// If a simulation fails or is stopped.
    pub fn timelines(
        self,
        experiment: &Experiment<'_>,
        runs: &[Run<'_>],
        again: Vec<Contender>,
        named: &[u32],
        jobs: usize,
        progress: &dyn Progress,
    ) -> Result<Timelines, Error> {
        let coflows = if experiment.explains() { chosen(runs, named) } else { Vec::new() };
        let explanations = explain(experiment, runs, again, &coflows, jobs, progress)?;
        let fabric = experiment.network().fabric();
        let of_coflow = |(place, coflow): (usize, &u32)| {
            let under =
                |(run, of): (&Run<'_>, &Vec<Explanation>)| Explained::of(run, &of[place], fabric);
            (*coflow, runs.iter().zip(&explanations).map(under).collect())
        };
        let explained = coflows.iter().enumerate().map(of_coflow).collect();
        let recorded = self.0.into_iter().map(|recorder| {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut recorder.sendings)
        });
        let recorded: Vec<Sendings> = recorded.collect();
        Ok(Timelines::new(experiment.workload(), fabric, &recorded, explained))
    }
}

/// The coflows to explain: those named, the slowest under each policy, the next ones under each,
/// and so on.
fn chosen(runs: &[Run<'_>], named: &[u32]) -> Vec<u32> {
    let slowest: Vec<Vec<u32>> = runs.iter().map(|run| run.outcome().slowest(SLOWEST)).collect();
    let ranks = (0..SLOWEST).flat_map(|rank| slowest.iter().filter_map(move |of| of.get(rank)));
    let mut known = BTreeSet::new();
    named.iter().chain(ranks).copied().filter(|&coflow| known.insert(coflow)).collect()
}

/// The explanations of some coflows in each run.
fn explain(
    experiment: &Experiment<'_>,
    runs: &[Run<'_>],
    again: Vec<Contender>,
    coflows: &[u32],
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Explanation>>, Error> {
    if coflows.is_empty() {
        return Ok(vec![Vec::new(); runs.len()]);
    }
    let mut explained = Vec::new();
    explained.resize_with(runs.len(), || None);
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((contender, run), slot) in again.into_iter().zip(runs).zip(&mut explained) {
        let outcome = run.outcome();
        tasks.push(Box::new(move || {
            *slot = Some(experiment.explain_outcome(contender, outcome, coflows, progress));
        }));
    }
    parallel::run(tasks, jobs);
    explained.into_iter().flatten().collect()
}
