//! Coflows found in flow records.

use std::path::PathBuf;

use covey_identify::{Algorithm, Metric, confidence};
use covey_report::{Column, Method, Values, identification_page, together_table};
use covey_trace::records::{self, Columns, Grouped, Options, Reader, Records, Stitch};
use pyo3::prelude::*;

use crate::errors::{bad, raised};
use crate::frame::Frame;
use crate::html;
use crate::json::as_python;
use crate::network::warn;
use crate::run::write_page;
use crate::trace::Trace;

/// The groups that the page and the text list.
const TOP: usize = 20;

/// The coflows that were found in flow records.
#[pyclass(frozen, module = "covey")]
pub struct Identification {
    records: Records,
    /// The group of each flow.
    group_of: Vec<u32>,
    found: covey_report::Identification,
}

/// Reads flow records, and groups them.
#[pyfunction]
#[pyo3(signature = (files, *, format, columns, stitch_s, metric, algorithm, min_points, skip_bad, strict, anonymise))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn identify(
    py: Python<'_>,
    files: Vec<String>,
    format: Option<&str>,
    columns: Option<&str>,
    stitch_s: Option<f64>,
    metric: Option<PathBuf>,
    algorithm: &str,
    min_points: u32,
    skip_bad: bool,
    strict: bool,
    anonymise: bool,
) -> PyResult<Identification> {
    let by = match algorithm {
        "rough" => Algorithm::Rough { min_points },
        "dbscan" => Algorithm::Dbscan { min_points },
        _ => return Err(bad("algorithm", "rough or dbscan", algorithm)),
    };
    let options = Options {
        format: format.map(records::format).transpose().map_err(raised)?,
        columns: columns.map(str::parse::<Columns>).transpose().map_err(raised)?,
        stitch: match stitch_s {
            None => Stitch::WhereShown,
            Some(0.0) => Stitch::Off,
            Some(seconds) => Stitch::UpTo(seconds),
        },
        skip_bad,
        strict,
    };
    let own = metric.as_deref().map(covey_experiment::read_metric).transpose().map_err(raised)?;
    let own: Metric = own.unwrap_or_default();
    let read = || {
        let mut reader = Reader::new(options);
        files.iter().try_for_each(|file| reader.open(file, |_| ()))?;
        reader.finish()
    };
    let records = py.detach(read).map_err(raised)?;
    let repairs = &records.repairs;
    warn(py, repairs.notes().into_iter().chain(together_table(&repairs.together)), 2)?;
    let (group_of, confidence) = py.detach(|| {
        (covey_identify::identify(&records.flows, &own, by), confidence(&records.flows))
    });
    let method = Method {
        algorithm: algorithm.to_owned(),
        min_points,
        metric: metric.map_or("default".to_owned(), |file| file.display().to_string()),
        radius: own.radius,
        confidence,
    };
    let (records, name) = match anonymise {
        true => (records.anonymised(), "anonymised".to_owned()),
        false => (records, files.join(" and ")),
    };
    let found = {
        let grouped = Grouped::new(&records, group_of.clone());
        covey_report::Identification::of(&grouped, &name, method, TOP)
    };
    Ok(Identification { records, group_of, found })
}

impl Identification {
    fn grouped(&self) -> Grouped<'_> {
        Grouped::new(&self.records, self.group_of.clone())
    }
}

#[pymethods]
impl Identification {
    /// A table with a row for each group, in the order of the groups' numbers.
    ///
    /// group, flows, bytes, first_start_s, last_end_s, sources, destinations.
    #[getter]
    fn groups(&self) -> PyResult<Frame> {
        let groups = self.grouped().groups;
        let on_clock = |s: f64| self.records.on_clock(s);
        let count = |of: fn(&records::Group) -> u64| {
            Values::Count(groups.iter().map(|group| of(group) as u32).collect())
        };
        let ends = groups.iter().map(|group| group.last_end_s.map(|s| on_clock(s).as_secs()));
        let starts = groups.iter().map(|group| on_clock(group.first_start_s));
        Frame::of(vec![
            Column { name: "group", values: Values::Count((0..groups.len() as u32).collect()) },
            Column { name: "flows", values: count(|group| group.flows) },
            Column {
                name: "bytes",
                values: Values::Number(groups.iter().map(|group| group.bytes).collect()),
            },
            Column { name: "first_start_s", values: Values::Time(starts.collect()) },
            Column { name: "last_end_s", values: Values::Maybe(ends.collect()) },
            Column { name: "sources", values: count(|group| group.sources) },
            Column { name: "destinations", values: count(|group| group.destinations) },
        ])
    }

    /// A table with a row for each flow, in order of starts.
    ///
    /// group, src, dst (hosts), sport, dport, protocol (numbers), bytes, start_s, label (never used
    /// to find groups).
    #[getter]
    fn flows(&self) -> PyResult<Frame> {
        let Records { flows, hidden, labels, .. } = &self.records;
        let hosts = |of: fn(&covey_identify::Observed) -> covey_identify::Address| -> Vec<String> {
            flows.iter().map(|flow| self.records.host(of(flow))).collect()
        };
        let (sources, destinations) = (hosts(|flow| flow.src), hosts(|flow| flow.dst));
        fn text(values: &[String]) -> Values<'_> {
            Values::Text(values.iter().map(|value| Some(value.as_str())).collect())
        }
        let count = |of: fn(&covey_identify::Observed) -> u32| {
            Values::Count(flows.iter().map(of).collect())
        };
        let start = flows.iter().map(|flow| self.records.on_clock(flow.start_s));
        let label = |label: u32| labels[label as usize].as_str();
        Frame::of(vec![
            Column { name: "group", values: Values::Count(self.group_of.clone()) },
            Column { name: "src", values: text(&sources) },
            Column { name: "dst", values: text(&destinations) },
            Column { name: "sport", values: count(|flow| u32::from(flow.sport)) },
            Column { name: "dport", values: count(|flow| u32::from(flow.dport)) },
            Column { name: "protocol", values: count(|flow| u32::from(flow.protocol)) },
            Column {
                name: "bytes",
                values: Values::Maybe(hidden.iter().map(|it| it.bytes).collect()),
            },
            Column { name: "start_s", values: Values::Time(start.collect()) },
            Column {
                name: "label",
                values: Values::Text(hidden.iter().map(|it| it.label.map(label)).collect()),
            },
        ])
    }

    /// The groups as a trace, whose ports are the hosts. Flows without bytes are left out.
    #[getter]
    fn trace(&self, py: Python<'_>) -> PyResult<Trace> {
        let (workload, left) = self.grouped().workload().map_err(raised)?;
        let note = format!(
            "left out: flows without bytes, {}; groups that have no others, {}",
            left.flows, left.groups
        );
        warn(py, (left.flows > 0).then_some(note), 1)?;
        Ok(Trace::new(format!("coflows of {}", self.found.records), workload))
    }

    /// Give what was found, as of ``covey identify --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.found)
    }

    /// Write a page with a picture of the groups, and their table.
    #[pyo3(signature = (path, command="a Python program"))]
    fn report(&self, py: Python<'_>, path: PathBuf, command: &str) -> PyResult<()> {
        let page = py.detach(|| identification_page(&self.found, &self.grouped(), command));
        write_page(&path, &page)
    }

    fn __len__(&self) -> usize {
        self.found.groups
    }

    /// The text of `covey identify`.
    fn __str__(&self) -> String {
        self.found.to_string()
    }

    fn _repr_html_(&self) -> String {
        html::notes([&self.found])
    }
}
