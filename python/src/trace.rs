//! Workloads.

use std::sync::Arc;

use covey_core::units;
use covey_experiment::Setup;
use covey_report::{Column, FabricLoad, TraceInfo, Values};
use covey_trace::transform::{self, Filter, Mantri, Scale, Waves, WavesOf};
use covey_trace::{Source, Stats, TraceError, Workload};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::{InputError, raised};
use crate::frame::Frame;
use crate::html;
use crate::json::as_python;
use crate::network::{placed, warn};

/// What is to be sent, when, and between which ports. It never changes, and can be pickled.
#[pyclass(frozen, module = "covey")]
pub struct Trace {
    pub name: String,
    pub workload: Arc<Workload>,
}

impl Trace {
    pub fn new(name: String, workload: Workload) -> Trace {
        Trace { name, workload: Arc::new(workload) }
    }

    /// A workload made of this one, without holding up Python.
    fn made(
        &self,
        py: Python<'_>,
        how: String,
        make: impl FnOnce(&Workload) -> Result<Workload, TraceError> + Send,
    ) -> PyResult<Trace> {
        let workload = py.detach(|| make(&self.workload)).map_err(raised)?;
        Ok(Trace::new(format!("{} | {how}", self.name), workload))
    }
}

/// Reads the workload that names on the command line mean.
#[pyfunction]
#[pyo3(signature = (names, seed=None, columns=None, anonymise=false))]
pub fn open(
    py: Python<'_>,
    names: Vec<String>,
    seed: Option<u64>,
    columns: Option<&str>,
    anonymise: bool,
) -> PyResult<Trace> {
    let columns = columns.map(str::parse).transpose().map_err(raised)?;
    let source = Source { items: names, columns, anonymise };
    let source = Setup { seed, ..Setup::default() }.seeded_source(&source);
    let workload = noting(py, |notes| source.open(notes))?;
    Ok(Trace::new(source.name(), workload))
}

/// Reads a trace in any of the formats; messages call it `name`.
#[pyfunction]
pub fn parse(py: Python<'_>, text: Vec<u8>, name: String) -> PyResult<Trace> {
    let workload = noting(py, |notes| covey_trace::read_noting(text.as_slice(), &name, notes))?;
    Ok(Trace::new(name, workload))
}

/// Reads a workload, and warns of what was guessed, merged or left out.
fn noting(
    py: Python<'_>,
    read: impl FnOnce(&mut dyn FnMut(&str)) -> Result<Workload, TraceError> + Send,
) -> PyResult<Workload> {
    let (read, notes) = py.detach(|| {
        let mut notes = Vec::new();
        let read = read(&mut |note: &str| notes.push(note.to_owned()));
        (read, notes)
    });
    let workload = read.map_err(raised)?;
    warn(py, notes, 2)?;
    Ok(workload)
}

/// Reads Covey JSON lines that were made of a table. `rows` are the table's rows of each coflow,
/// and messages name row and column.
#[pyfunction]
pub fn parse_rows(
    py: Python<'_>,
    text: Vec<u8>,
    name: String,
    rows: Vec<Vec<usize>>,
) -> PyResult<Trace> {
    let read = py.detach(|| covey_trace::read(text.as_slice(), &name));
    let workload = read.map_err(|error| in_table(error, &rows))?;
    Ok(Trace::new(name, workload))
}

/// The exception for an error in JSON lines that were made of a table.
fn in_table(error: TraceError, rows: &[Vec<usize>]) -> PyErr {
    let TraceError::Bad { name, line, field, expected, found } = &error else {
        return raised(error);
    };
    // The first line is the header.
    let own = usize::try_from(*line).ok().and_then(|line| rows.get(line.checked_sub(2)?));
    let flow = field.strip_prefix("flows[").and_then(|rest| rest.split_once("]."));
    let (number, column) = flow.map_or(("0", field.as_str()), |flow| flow);
    let row = own.zip(number.parse().ok()).and_then(|(own, number): (_, usize)| own.get(number));
    let Some(row) = row else {
        return raised(error);
    };
    let column = if column == "id" { "coflow" } else { column };
    // The column of the JSON line means nothing here.
    let found = found.rsplit_once(" (column").map_or(found.as_str(), |(found, _)| found);
    InputError::new_err(format!(
        "{name}: row {row}, column {column}: expected {expected}, found {found}"
    ))
}

#[pymethods]
impl Trace {
    /// Make a trace of a table with a row for each flow.
    ///
    /// `frame` is a data frame of pandas, polars or pyarrow, a `Frame`, or a dict of columns:
    ///
    /// - coflow: the coflow's name, a text or a whole number;
    /// - arrival_s: when the coflow arrives, in seconds or as a date, the same in all its rows;
    /// - src, dst: the ports that send and receive, from 0, or the names of hosts;
    /// - bytes: the size of the flow.
    ///
    /// `columns` says which column has what, such as ``{"src": "client"}``; without it, columns
    /// have these names. Without arrival_s a coflow arrives with its first flow; start_s are on one
    /// clock.
    ///
    /// These columns may be left out: start_s (start of the flow, seconds after the arrival or a
    /// date), restart_s (when it loses what it has sent), attempt (the number, among the coflow's
    /// rows, of an earlier flow that carries the same bytes) and ratio (compressed bytes for each
    /// raw byte; 1: not compressible); and, the same in all rows of a coflow, weight, deadline_s
    /// (time allowed after the arrival), job and tenant (names), parents (a list of coflows that
    /// end before this one is released) and compress (False: never). Other columns are not looked
    /// at.
    ///
    /// Coflows are in the order in which they first appear. There are `ports` ports, or else as
    /// many as are named; messages call the trace `name`. Raises `InputError` with row (from 0) and
    /// column.
    #[staticmethod]
    #[pyo3(signature = (frame, *, ports=None, name="a frame", columns=None))]
    fn from_flows(
        frame: &Bound<'_, PyAny>,
        ports: Option<u32>,
        name: &str,
        columns: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Trace>> {
        let arguments = (frame, ports, name, columns);
        let made = frame.py().import("covey._flows")?.call_method1("trace", arguments)?;
        Ok(made.cast_into::<Trace>()?.unbind())
    }

    /// What reports call it.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Number of ports.
    #[getter]
    fn ports(&self) -> u32 {
        self.workload.ports
    }

    /// Where times begin on the clock of the trace: exact seconds, and mostly 0.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.workload.origin.to_string();
        py.import("decimal")?.call_method1("Decimal", (text,))
    }

    /// Number of flows of all coflows.
    #[getter]
    fn flows(&self) -> usize {
        self.workload.num_flows()
    }

    /// Bytes of all flows.
    #[getter]
    fn bytes(&self) -> f64 {
        self.workload.bytes()
    }

    /// Count the coflows.
    fn __len__(&self) -> usize {
        self.workload.coflows.len()
    }

    /// A row for each coflow: coflow_id, arrival_s, width, size_bytes, length_bytes.
    #[getter]
    fn coflows(&self) -> PyResult<Frame> {
        let coflows = &self.workload.coflows;
        let arrivals = coflows.iter().map(|c| self.workload.on_clock(c.arrival_s));
        let number =
            |of: fn(&covey_trace::Coflow) -> f64| Values::Number(coflows.iter().map(of).collect());
        Frame::of(vec![
            Column {
                name: "coflow_id",
                values: Values::Text(coflows.iter().map(|c| Some(c.id.as_str())).collect()),
            },
            Column { name: "arrival_s", values: Values::Time(arrivals.collect()) },
            Column {
                name: "width",
                values: Values::Count(coflows.iter().map(|c| c.width() as u32).collect()),
            },
            Column { name: "size_bytes", values: number(|c| c.size_bytes()) },
            Column { name: "length_bytes", values: number(|c| c.length_bytes()) },
        ])
    }

    /// Statistics, as of ``covey trace info --json``.
    ///
    /// With `fabric` also how busy the trace keeps the links of that network by tier, under the
    /// keys fabric and tiers. `port_rate` is the speed of ports with its unit (default "1gbps").
    #[pyo3(signature = (*, fabric=None, port_rate=None))]
    fn info<'py>(
        &self,
        py: Python<'py>,
        fabric: Option<String>,
        port_rate: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let load = match fabric {
            None => None,
            Some(fabric) => {
                let setup = Setup { fabric, port_rate, ..Setup::default() };
                let (network, workload) = placed(py, &self.workload, &setup, 1)?;
                Some(py.detach(|| FabricLoad::of(&network, &workload)))
            }
        };
        as_python(py, &TraceInfo { stats: Stats::of(&self.workload), load })
    }

    /// The statistics as a page of text.
    fn __str__(&self) -> String {
        format!("{}\n{}", self.name, Stats::of(&self.workload))
    }

    fn _repr_html_(&self) -> String {
        html::stats(&self.name, &Stats::of(&self.workload))
    }

    fn __repr__(&self) -> String {
        let (coflows, flows) = (self.workload.coflows.len(), self.workload.num_flows());
        format!("<covey.Trace {}: {coflows} coflows, {flows} flows>", self.name)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Trace>();
        other.is_ok_and(|other| self.workload == other.get().workload)
    }

    /// Write the trace as Covey JSON lines.
    fn dumps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut text = Vec::new();
        py.detach(|| covey_trace::write(&self.workload, &mut text))?;
        Ok(PyBytes::new(py, &text))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parse = py.import("covey._core")?.getattr("parse")?;
        (parse, (self.dumps(py)?, &self.name)).into_pyobject(py)
    }

    /// Keep coflows of at least so many flows, and of more than so much skew (Philae 8.1).
    #[pyo3(signature = (min_width=None, min_skew=None))]
    fn filter(
        &self,
        py: Python<'_>,
        min_width: Option<usize>,
        min_skew: Option<f64>,
    ) -> PyResult<Trace> {
        let given = [
            min_width.map(|n| format!("min_width={n}")),
            min_skew.map(|k| format!("min_skew={k}")),
        ];
        let given = given.into_iter().flatten().collect::<Vec<_>>().join(", ");
        self.made(py, format!("filter({given})"), |w| {
            transform::filter(w, Filter { min_width, min_skew })
        })
    }

    /// Let mappers send unequally (Philae 8.1); what reducers receive stays.
    ///
    /// The coefficients of variation over the mappers of a coflow are `cv_p50` at the median and
    /// `cv_p90` at the 90th percentile.
    #[pyo3(signature = (cv_p50=0.34, cv_p90=3.1, seed=1))]
    fn mantri(&self, py: Python<'_>, cv_p50: f64, cv_p90: f64, seed: u64) -> PyResult<Trace> {
        let how = format!("mantri(cv_p50={cv_p50}, cv_p90={cv_p90}, seed={seed})");
        self.made(py, how, |w| transform::mantri(w, Mantri { cv_p50, cv_p90, seed }))
    }

    /// Multiply each flow by exp(sigma * normal); the size of each coflow stays.
    #[pyo3(signature = (sigma=1.0, seed=1))]
    fn skew(&self, py: Python<'_>, sigma: f64, seed: u64) -> PyResult<Trace> {
        let how = format!("skew(sigma={sigma}, seed={seed})");
        self.made(py, how, |w| transform::skew(w, sigma, seed))
    }

    /// Multiply all times and sizes; fold ports, p becoming p modulo `ports`.
    #[pyo3(signature = (time=1.0, size=1.0, ports=None))]
    fn scale(&self, py: Python<'_>, time: f64, size: f64, ports: Option<u32>) -> PyResult<Trace> {
        let ports_given = ports.map(|n| format!(", ports={n}")).unwrap_or_default();
        let how = format!("scale(time={time}, size={size}{ports_given})");
        self.made(py, how, |w| transform::scale(w, Scale { time, size, ports }))
    }

    /// Let so many coflows that follow each other arrive together.
    #[pyo3(signature = (group=20))]
    fn burst(&self, py: Python<'_>, group: usize) -> PyResult<Trace> {
        self.made(py, format!("burst(group={group})"), |w| transform::burst(w, group))
    }

    /// Divide coflows into at most `max` waves of senders (Aalo 7.3, Table 4).
    ///
    /// With `of="flows"`, the percentages are of each coflow's flows (Stream, Table 2).
    /// A wave begins when the one before would be over, alone on ports of this rate.
    #[pyo3(signature = (max=4, rate="1gbps", seed=1, of="coflows"))]
    fn waves(&self, py: Python<'_>, max: u32, rate: &str, seed: u64, of: &str) -> PyResult<Trace> {
        let of: WavesOf = of.parse().map_err(|error: TraceError| raised(error))?;
        let by_flows = if of == WavesOf::Flows { ", of=flows" } else { "" };
        let how = format!("waves(max={max}, rate={rate}, seed={seed}{by_flows})");
        let rate = units::parse_rate(rate)
            .map_err(|problem| InputError::new_err(format!("rate: {problem}")))?;
        self.made(py, how, |w| transform::waves(w, Waves { max, rate, of, seed }))
    }

    /// Make each receiver of a coflow a coflow (Stream IV, many-to-one); its job is the coflow.
    fn split_receivers(&self, py: Python<'_>) -> PyResult<Trace> {
        self.made(py, "split_receivers()".to_owned(), transform::split_receivers)
    }

    /// Make each coflow a job of six stages (Stream IV): "q42" or "tao".
    #[pyo3(signature = (shape="q42"))]
    fn dag(&self, py: Python<'_>, shape: &str) -> PyResult<Trace> {
        let how = format!("dag(shape={shape})");
        let shape = shape.parse().map_err(|error: TraceError| raised(error))?;
        self.made(py, how, |w| transform::dag(w, shape))
    }

    /// Put copies side by side, each on ports of its own; the original counts.
    fn replicate(&self, py: Python<'_>, copies: u32) -> PyResult<Trace> {
        self.made(py, format!("replicate({copies})"), |w| transform::replicate(w, copies))
    }
}
