//! Simulations, which run in a thread of their own while Python waits, shows progress, and listens
//! for Ctrl-C.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use covey_core::Observed;
use covey_emulate::Simulator;
use covey_experiment::{Contender, Experiment, Progress, Setup};
use covey_report::{
    Bin, Column, Explained, Run, RunInfo, Summary, Values, html_page, mean_cct_by_bin, per_coflow,
    per_flow, write_file_atomically,
};
use covey_sim::{Observer, Round, Timeline};
use covey_topology::Network;
use covey_trace::Workload;
use covey_trace::results::Outcome;
use covey_trace::results::Span;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyString};

use crate::errors::{InputError, SimulationError, bad, raised};
use crate::frame::Frame;
use crate::halt::Halt;
use crate::html;
use crate::json::as_python;
use crate::network::{placed, warn};
use crate::policy::policy;
use crate::timeline;
use crate::trace::Trace;

/// How long Python waits before it looks for signals and shows progress.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a policy is given to end after an interrupt, before it gets another.
const BREATH: Duration = Duration::from_millis(5);

/// Stops simulations in other threads that were given it.
#[pyclass(frozen, module = "covey._core")]
pub struct Stop {
    halt: Arc<Halt>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop { halt: Arc::new(Halt::default()) }
    }

    /// Stop them now.
    fn set(&self) {
        self.halt.stop();
    }
}

/// What is known of simulations that run.
#[derive(Default)]
pub struct Watch {
    pub halt: Arc<Halt>,
    done: AtomicUsize,
}

impl Progress for Watch {
    fn advance(&self, coflows: usize) {
        self.done.fetch_add(coflows, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.halt.is_stopped()
    }
}

/// A timeline that is read when its simulation is over.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Timeline>>);

impl Observer for Shared {
    fn round(&mut self, round: &Round<'_>) -> std::ops::ControlFlow<()> {
        let mut timeline = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        timeline.round(round)
    }
}

/// What became of a workload under one policy.
struct Kept {
    workload: Arc<Workload>,
    outcome: Outcome,
    info: RunInfo,
    spans: Option<Vec<Span>>,
    scene: Arc<Scene>,
    /// The text that named the policy, if it was not an instance.
    spec: Option<String>,
}

/// What a workload was simulated on.
struct Scene {
    setup: Setup,
    network: Network,
    appearing: Option<Vec<Observed>>,
}

impl Scene {
    fn experiment<'a>(
        &'a self,
        workload: &'a Workload,
        name: String,
    ) -> std::result::Result<Experiment<'a>, covey_experiment::Error> {
        let experiment = Experiment::on(self.network.clone(), workload, name, &self.setup)?;
        Ok(experiment.appearing(self.appearing.as_deref()))
    }
}

impl Kept {
    /// Explains the completion time of the coflow at an index.
    fn explain(
        &self,
        contender: Contender,
        coflow: u32,
        progress: &dyn Progress,
    ) -> std::result::Result<Explained, covey_experiment::Error> {
        let experiment = self.scene.experiment(&self.workload, self.info.trace.clone())?;
        let explained =
            experiment.explain_outcome(contender, &self.outcome, &[coflow], progress)?;
        let run = Run::borrowed(&self.workload, &self.outcome, self.info.clone())?;
        Ok(Explained::of(&run, &explained[0], self.scene.network.fabric()))
    }

    fn run(&self) -> PyResult<Run<'_>> {
        Run::borrowed(&self.workload, &self.outcome, self.info.clone()).map_err(raised)
    }

    fn spans(&self) -> PyResult<&[Span]> {
        let missing = || InputError::new_err("timeline: expected a simulation with timeline=True");
        self.spans.as_deref().ok_or_else(missing)
    }
}

/// One policy simulated on one trace.
#[pyclass(frozen, module = "covey")]
pub struct Result {
    kept: Arc<Kept>,
    summary: OnceLock<Summary>,
}

/// Several policies simulated on one trace. Iterating gives their results in order.
#[pyclass(frozen, module = "covey")]
pub struct Comparison {
    results: Vec<Arc<Kept>>,
    baseline: usize,
    jct_shares: Option<u64>,
}

/// Simulates policies (each a text, or a label and an instance of `covey.Policy`) on a trace.
/// `progress` is called with the number of coflows that have ended, over all policies.
#[pyfunction]
#[pyo3(signature = (trace, policies, *, fabric, port_rate, cpu, sim, barrier, seed, bound, rung, metric, tenants, timeline, baseline, jct_shares, jobs, progress, stop))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn run(
    py: Python<'_>,
    trace: &Bound<'_, Trace>,
    policies: Vec<Bound<'_, PyAny>>,
    fabric: String,
    port_rate: Option<String>,
    cpu: String,
    sim: &str,
    barrier: bool,
    seed: Option<u64>,
    bound: bool,
    rung: Option<String>,
    metric: Option<PathBuf>,
    tenants: Option<String>,
    timeline: bool,
    baseline: Option<&str>,
    jct_shares: Option<u64>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
    stop: Option<Bound<'_, Stop>>,
) -> PyResult<Comparison> {
    let emulated = match sim {
        "exact" => None,
        "coflowsim" => Some(Simulator::CoflowSim),
        "philae-authors" => Some(Simulator::PhilaeAuthors),
        _ => return Err(bad("sim", "exact, coflowsim or philae-authors", sim)),
    };
    let setup = Setup { fabric, port_rate, cpu, emulated, barrier, seed, rung, metric, tenants };
    if emulated.is_some() && (bound || timeline) {
        let argument = if bound { "bound" } else { "timeline" };
        return Err(bad(argument, "sim='exact' with it", sim));
    }
    let halt = match stop {
        Some(stop) => Halt::within(Arc::clone(&stop.get().halt)),
        None => Arc::default(),
    };
    let mut contenders = Vec::new();
    let mut timelines = Vec::new();
    for given in &policies {
        let mut contender = contender(given, &setup, &halt)?;
        if timeline {
            let shared = Shared::default();
            contender = contender.watched_by(Box::new(shared.clone()));
            timelines.push(shared);
        }
        contenders.push(contender);
        Contender::check_differ(&contenders).map_err(raised)?;
    }
    let baseline = covey_experiment::baseline(baseline, &contenders).map_err(raised)?;

    let trace = trace.get();
    warn(py, setup.without_effect(&trace.name, &trace.workload, &contenders), 2)?;
    let (network, workload) = placed(py, &trace.workload, &setup, 2)?;
    let (workload, appearing) = match setup.on_rung(&workload).map_err(raised)? {
        Some((workload, flows)) => (Arc::new(workload), Some(flows)),
        None => (workload, None),
    };
    let specs: Vec<Option<String>> = policies.iter().map(|given| given.extract().ok()).collect();
    let scene = Arc::new(Scene { setup, network, appearing });
    let total = contenders.len() * workload.coflows.len();
    let watch = Arc::new(Watch { halt: Arc::clone(&halt), ..Watch::default() });
    let jobs = jobs.unwrap_or_else(covey_experiment::cores).max(1);
    let runs = in_thread(py, &watch, total, progress.as_ref(), {
        let (workload, name, watch) =
            (Arc::clone(&workload), trace.name.clone(), Arc::clone(&watch));
        let scene = Arc::clone(&scene);
        move || {
            let experiment = scene.experiment(&workload, name)?;
            let runs = experiment.run(contenders, bound, jobs, watch.as_ref())?;
            Ok::<_, covey_experiment::Error>(
                runs.into_iter().map(Run::into_parts).collect::<Vec<_>>(),
            )
        }
    })?;
    if let Some(exception) = halt.take() {
        return Err(exception);
    }
    let mut timelines = timelines.into_iter();
    let runs = runs.map_err(raised)?.into_iter().zip(specs);
    let kept = runs.map(|((outcome, info), spec)| {
        let spans = timelines.next().map(|shared| {
            let mut timeline = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *timeline).into_spans()
        });
        let (workload, scene) = (Arc::clone(&workload), Arc::clone(&scene));
        Arc::new(Kept { workload, outcome, info, spans, scene, spec })
    });
    Ok(Comparison { results: kept.collect(), baseline, jct_shares })
}

/// The policy that Python means: a text, or a tuple of label, parameters and instance.
fn contender(given: &Bound<'_, PyAny>, setup: &Setup, halt: &Arc<Halt>) -> PyResult<Contender> {
    if given.is_instance_of::<PyString>() {
        return setup.contender(&given.extract::<String>()?).map_err(raised);
    }
    if let Some(simulator) = setup.emulated {
        let expected = "the name of a policy that the simulator has";
        return Err(bad("policies", expected, simulator.name()));
    }
    let (label, params, object): (String, Vec<(String, String)>, Bound<'_, PyAny>) =
        given.extract()?;
    Ok(Contender::new(&label, params, policy(&object, Arc::clone(halt))?))
}

/// Does something in a thread. A signal interrupts what policies compute there; the thread is not
/// waited for when no policy computes any more.
pub fn in_thread<T: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    total: usize,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let thread = thread::Builder::new().name("covey".to_owned()).spawn(move || {
        // Where nobody waits any more, the result is not wanted.
        let _ = send.send(work());
    });
    thread.map_err(|error| PyOSError::new_err(error.to_string()))?;
    let receive = Mutex::new(receive);
    let wait = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
    let tell = || -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((watch.done.load(Ordering::Relaxed), total))?;
        }
        Ok(())
    };
    let halt = &watch.halt;
    loop {
        match py.detach(wait) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a bug, please report it: the thread is gone"));
            }
        }
        if let Err(signal) = tell() {
            return Err(ended(py, halt, signal)?);
        }
        if halt.is_stopped() {
            halt.interrupt(py)?;
        }
    }
}

/// Waits until no policy computes any more, and returns the exception that shows where it was
/// interrupted, if it was. A second signal ends the waiting: what a policy does outside of Python
/// cannot be interrupted.
fn ended(py: Python<'_>, halt: &Halt, signal: PyErr) -> PyResult<PyErr> {
    while halt.interrupt(py)? {
        py.detach(|| thread::sleep(BREATH));
        py.check_signals()?;
    }
    Ok(halt.take().unwrap_or(signal))
}

/// Writes a page, which is there whole or not at all.
pub fn write_page(path: &Path, page: &str) -> PyResult<()> {
    write_file_atomically(path, |out| out.write_all(page.as_bytes())).map_err(|error| {
        PyOSError::new_err(format!("{}: cannot be written: {error}", path.display()))
    })
}

#[pymethods]
impl Result {
    /// The policy as it was written.
    #[getter]
    fn label(&self) -> &str {
        &self.kept.info.label
    }

    /// The policy's name.
    #[getter]
    fn policy(&self) -> &str {
        &self.kept.info.policy
    }

    /// A row for each coflow in the order of the trace, as in ``--per-coflow``.
    ///
    /// coflow_id, arrival_s, completion_s, cct_s, width (flows), size_bytes, length_bytes (longest
    /// flow), release_s, job, weight, deadline_s, deadline_met, saved_bytes, cpu_s, tenant. Columns
    /// in which no coflow has a value are left out.
    #[getter]
    fn per_coflow(&self) -> PyResult<Frame> {
        let run = self.kept.run()?;
        let columns = per_coflow(&run).into_iter().filter(|column| !column.values.is_empty());
        Frame::of(columns.collect())
    }

    /// The mean completion time of its coflows.
    #[getter]
    fn mean_cct_s(&self) -> PyResult<f64> {
        Ok(self.statistics()?.cct_s.mean)
    }

    /// A row for each flow in the order of the trace, as in ``--per-flow``.
    ///
    /// coflow_id, flow (from 0 within its coflow), src and dst (ports), bytes, start_s,
    /// completion_s, fct_s.
    #[getter]
    fn per_flow(&self) -> PyResult<Frame> {
        Frame::of(per_flow(&self.kept.run()?))
    }

    /// A row for each time in which a coflow sends out of a port at one rate.
    ///
    /// coflow_id, port, start_s, end_s, bytes_per_s, duration_s. Needs
    /// ``simulate(..., timeline=True)``.
    #[getter]
    fn timeline(&self) -> PyResult<Frame> {
        timeline::frame(&self.kept.workload, self.kept.spans()?)
    }

    /// The rectangles of a drawing of the timeline, for some ports and coflows or for all.
    fn _drawing(
        &self,
        ports: Option<HashSet<u32>>,
        coflows: Option<HashSet<String>>,
        columns: u32,
    ) -> PyResult<Frame> {
        let Kept { workload, info, .. } = self.kept.as_ref();
        let is_meant = |span: &&Span| {
            let id = &workload.coflows[span.coflow as usize].id;
            ports.as_ref().is_none_or(|ports| ports.contains(&span.link.0))
                && coflows.as_ref().is_none_or(|coflows| coflows.contains(id))
        };
        let spans = self.kept.spans()?.iter().filter(is_meant);
        timeline::drawing(workload, spans, columns, info.port_rate_bps / 8.0)
    }

    /// What the CCT of a coflow went to, as of ``covey explain --json``, and a sentence as `text`.
    ///
    /// The parts add up to it. The policy is simulated again, so it must have been given by name.
    fn explain<'py>(&self, py: Python<'py>, coflow: &str) -> PyResult<Bound<'py, PyAny>> {
        let coflows = &self.kept.workload.coflows;
        let Some(index) = coflows.iter().position(|known| known.id == coflow) else {
            return Err(bad("coflow", "the id of a coflow of the trace", coflow));
        };
        let Some(spec) = &self.kept.spec else {
            let expected = "the result of a policy that was given by name";
            return Err(bad("explain", expected, &self.kept.info.label));
        };
        let contender = self.kept.scene.setup.contender(spec).map_err(raised)?;
        let watch = Arc::new(Watch::default());
        let explained = in_thread(py, &watch, coflows.len(), None, {
            let (kept, watch) = (Arc::clone(&self.kept), Arc::clone(&watch));
            move || kept.explain(contender, index as u32, watch.as_ref())
        })?;
        let explained = explained.map_err(raised)?;
        let object = as_python(py, &explained)?;
        object.set_item("text", explained.sentence())?;
        Ok(object)
    }

    /// Statistics, as of ``covey simulate --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, self.statistics()?)
    }

    fn _repr_html_(&self) -> PyResult<String> {
        Ok(html::summary(self.statistics()?))
    }

    fn __str__(&self) -> PyResult<String> {
        Ok(self.statistics()?.to_string())
    }

    fn __repr__(&self) -> String {
        let info = &self.kept.info;
        format!("<covey.Result of {} on {}>", info.label, info.trace)
    }
}

impl Result {
    fn of(kept: &Arc<Kept>) -> Result {
        Result { kept: Arc::clone(kept), summary: OnceLock::new() }
    }

    fn statistics(&self) -> PyResult<&Summary> {
        if self.summary.get().is_none() {
            let _ = self.summary.set(Summary::of(&self.kept.run()?));
        }
        self.summary.get().ok_or_else(|| SimulationError::new_err("no summary"))
    }
}

/// The policies of a comparison, as they were written.
fn labels(comparison: &covey_report::Comparison) -> Vec<&str> {
    comparison.summaries().iter().map(|summary| summary.label.as_str()).collect()
}

impl Comparison {
    pub(crate) fn comparison(&self) -> PyResult<covey_report::Comparison> {
        let runs = self.results.iter().map(|kept| kept.run()).collect::<PyResult<Vec<_>>>()?;
        let comparison = covey_report::Comparison::new(&runs, self.baseline).map_err(raised)?;
        Ok(match self.jct_shares {
            Some(seed) => comparison.with_jct_shares(seed),
            None => comparison,
        })
    }
}

#[pymethods]
impl Comparison {
    /// The label of the policy that the others are measured against.
    #[getter]
    fn baseline(&self) -> &str {
        &self.results[self.baseline].info.label
    }

    /// Statistics, as of ``covey compare --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.comparison()?)
    }

    /// A row for each policy, as in the table of ``covey compare``.
    ///
    /// policy, mean_cct_s, p50_cct_s, p95_cct_s, p99_cct_s, max_cct_s, speedup_of_mean,
    /// speedup_median, mean_over_bound (null without a bound), speedup_low and speedup_high (the
    /// 95 % interval of speedup_of_mean over the coflows; null for the baseline).
    #[getter]
    fn table(&self) -> PyResult<Frame> {
        let comparison = self.comparison()?;
        let (results, speedups) = (comparison.summaries(), comparison.speedups());
        let number = |of: fn(&Summary) -> f64| Values::Number(results.iter().map(of).collect());
        let speedup = |of: fn(&covey_report::Speedup) -> f64| {
            Values::Number(speedups.iter().map(of).collect())
        };
        let end = |of: fn(covey_report::Interval) -> f64| {
            Values::Maybe(speedups.iter().map(|it| it.interval.map(of)).collect())
        };
        let labels = results.iter().map(|result| Some(result.label.as_str())).collect();
        let over_bound = results.iter().map(Summary::mean_over_bound).collect();
        Frame::of(vec![
            Column { name: "policy", values: Values::Text(labels) },
            Column { name: "mean_cct_s", values: number(|result| result.cct_s.mean) },
            Column { name: "p50_cct_s", values: number(|result| result.cct_s.p50) },
            Column { name: "p95_cct_s", values: number(|result| result.cct_s.p95) },
            Column { name: "p99_cct_s", values: number(|result| result.cct_s.p99) },
            Column { name: "max_cct_s", values: number(|result| result.cct_s.max) },
            Column { name: "speedup_of_mean", values: speedup(|it| it.mean_of_means) },
            Column { name: "speedup_median", values: speedup(|it| it.p50) },
            Column { name: "mean_over_bound", values: Values::Maybe(over_bound) },
            Column { name: "speedup_low", values: end(|interval| interval.low) },
            Column { name: "speedup_high", values: end(|interval| interval.high) },
        ])
    }

    /// `table` as a `pandas.DataFrame`. Needs pyarrow.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method0("to_pandas")
    }

    /// `table` as a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method0("to_polars")
    }

    /// Draw the distribution of completion times ("cct") or of speed-ups ("speedup").
    ///
    /// Needs matplotlib.
    #[pyo3(signature = (kind="cct", *, axes=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        kind: &str,
        axes: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = match kind {
            "cct" => "cct_cdf",
            "speedup" => "speedup_cdf",
            _ => return Err(bad("kind", "cct or speedup", kind)),
        };
        let options = [("axes", axes)].into_py_dict(slf.py())?;
        slf.py().import("covey.plots")?.call_method(name, (slf,), Some(&options))
    }

    /// The table of `covey compare`.
    fn __str__(&self) -> PyResult<String> {
        Ok(self.comparison()?.to_string())
    }

    fn _repr_html_(&self) -> PyResult<String> {
        Ok(html::comparison(&self.comparison()?))
    }

    fn __repr__(&self) -> String {
        let labels: Vec<&str> = self.results.iter().map(|kept| kept.info.label.as_str()).collect();
        format!("<covey.Comparison of {}>", labels.join(", "))
    }

    fn __len__(&self) -> usize {
        self.results.len()
    }

    /// Give the result of a policy, by its place or as it was written.
    fn __getitem__(&self, policy: &Bound<'_, PyAny>) -> PyResult<Result> {
        let place = match policy.extract::<usize>() {
            Ok(place) => (place < self.results.len()).then_some(place),
            Err(_) => {
                let label: String = policy.extract()?;
                let place = self.results.iter().position(|kept| kept.info.label == label);
                let missing = || PyKeyError::new_err(format!("no policy '{label}' was compared"));
                Some(place.ok_or_else(missing)?)
            }
        };
        let place = place.ok_or_else(|| PyIndexError::new_err("no such result"))?;
        Ok(Result::of(&self.results[place]))
    }

    /// A row for each policy and coflow: policy, coflow_id, speedup.
    ///
    /// The speed-up is the baseline's CCT over the policy's: above 1 is faster.
    #[getter]
    fn speedups(&self) -> PyResult<Frame> {
        let comparison = self.comparison()?;
        let (labels, coflows) = (labels(&comparison), &comparison.coflows().id);
        let places = 0..labels.len();
        let policy = places.clone().flat_map(|place| coflows.iter().map(move |_| place as u32));
        let coflow = places.clone().flat_map(|_| 0..coflows.len() as u32);
        let ids = coflows.iter().map(String::as_str).collect();
        let ratios = places.flat_map(|place| comparison.ratios(place).collect::<Vec<_>>());
        Frame::of(vec![
            Column { name: "policy", values: Values::Name(labels.clone(), policy.collect()) },
            Column { name: "coflow_id", values: Values::Name(ids, coflow.collect()) },
            Column { name: "speedup", values: Values::Number(ratios.collect()) },
        ])
    }

    /// A row for each policy and kind of coflow (Aalo, Table 3).
    ///
    /// policy, bin, coflows, mean_cct_s, speedup (of the mean CCT over the baseline's).
    #[getter]
    fn by_bin(&self) -> PyResult<Frame> {
        let comparison = self.comparison()?;
        let labels = labels(&comparison);
        let places = 0..labels.len();
        let mean = |place| mean_cct_by_bin(comparison.coflows(), place);
        let means: Vec<_> = places.clone().map(mean).collect();
        let base = means[self.baseline];
        let policy = places.clone().flat_map(|place| [place as u32; 4]);
        let bins = Bin::ALL.iter().map(|bin| bin.name()).collect();
        let bin = places.flat_map(|_| 0..4);
        let each = || means.iter().flat_map(|bins| bins.iter().zip(&base));
        Frame::of(vec![
            Column { name: "policy", values: Values::Name(labels, policy.collect()) },
            Column { name: "bin", values: Values::Name(bins, bin.collect()) },
            Column {
                name: "coflows",
                values: Values::Count(each().map(|(bin, _)| bin.coflows as u32).collect()),
            },
            Column {
                name: "mean_cct_s",
                values: Values::Number(each().map(|(bin, _)| bin.mean_cct_s).collect()),
            },
            Column {
                name: "speedup",
                values: Values::Number(
                    each().map(|(bin, base)| base.mean_cct_s / bin.mean_cct_s).collect(),
                ),
            },
        ])
    }

    /// Write a page with table and plots that needs no other file.
    ///
    /// `command` is what the page says made it.
    #[pyo3(signature = (path, command="a Python program"))]
    fn report(&self, py: Python<'_>, path: PathBuf, command: &str) -> PyResult<()> {
        let page = py.detach(|| Ok::<_, PyErr>(html_page(&self.comparison()?, command)))?;
        write_page(&path, &page)
    }
}
