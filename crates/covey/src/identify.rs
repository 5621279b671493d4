//! `covey identify`: groups recorded flows into coflows.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use covey_experiment::read_metric;
use covey_identify::{Algorithm, Form, Learning, Metric, confidence, identify, learn};
use covey_report::{Identification, Method, identification_page, together_table, write_json};
use covey_trace::records::{
    self, Columns, Grouped, Options, Reader, Records, Stitch, write_with_groups,
};

use crate::failure::Failure;
use crate::invocation;
use crate::output;
use crate::progress::Bar;
use crate::quantity;

/// Find the coflows in recorded flows, without labels (CODA)
#[derive(Debug, Args)]
#[command(after_help = "\
Formats, recognised by their content:
  csv     start_s,src,dst,sport,dport,proto,bytes,end_s,label (the last three may be empty)
  json    lines of JSON objects with these fields
  ss      while date +%s.%N; do ss -tin; sleep 0.1; done (and other options)
  nfdump  nfdump -o csv, line, long, extended, json; outputs may follow each other
  zeek    conn.log, as text or JSON
  aws, gcp, azure  flow logs of clouds
  table   any table whose columns have common names
Any other table: --columns start=COLUMN,unit=ms,src=COLUMN,dst=COLUMN,… names its columns.
Labels are never used to find groups. With labels, the output says how well groups agree with them.
--train alone learns from them.

Examples:
  covey identify conn.log
  covey identify flows.csv --json
  covey identify nfcapd.*.txt --stitch 5s
  covey identify flows.csv.gz --report groups.html --per-flow groups.csv
  covey identify flows.csv -o trace.jsonl --hosts hosts.csv && covey compare trace.jsonl
  covey identify labelled.csv --train metric.json && covey identify flows.csv --metric metric.json
  covey trace records builtin:fb-like --rung mixed-denser | covey identify -
docs/identify.md describes the formats, and what is repaired.")]
pub struct Identify {
    /// Flow records (also gzip and zstd ones), - for standard input; the order of files does not
    /// matter
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The format, if it should not be recognised: csv, json, ss, nfdump, zeek, aws, gcp, azure or
    /// table
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// The columns of another table, start=COLUMN,unit=ms,src=COLUMN,dst=COLUMN,… (docs/identify.md
    /// lists the keys)
    #[arg(long, value_name = "MAP", conflicts_with = "from")]
    columns: Option<String>,
    /// Put records of one five-tuple together across gaps of up to GAP, such as 5s; off puts none
    /// together [default: 5s, where records show that an exporter cut them]
    #[arg(long, value_name = "GAP")]
    stitch: Option<String>,
    /// Pass over broken lines, and count them
    #[arg(long)]
    skip_bad: bool,
    /// Refuse records of no use and impossible bytes instead of passing over them or capping them
    #[arg(long)]
    strict: bool,
    /// The metric, a file that --train wrote [default: one that needs no training]
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    metric: Option<PathBuf>,
    /// Learn a metric from the labels, write it to this file and use it; all records need labels
    #[arg(long, value_name = "FILE")]
    train: Option<PathBuf>,
    /// The matrix that --train learns: a weight for each attribute, or for each pair of them
    #[arg(long, value_enum, default_value = "diagonal", requires = "train")]
    form: FormName,
    /// The seed of the pairs of flows that --train draws
    #[arg(long, value_name = "N", default_value_t = 1, requires = "train")]
    seed: u64,
    /// rough groups leaders of flows; dbscan compares all flows that start near each other, and is
    /// slow
    #[arg(long, value_enum, default_value = "rough")]
    algorithm: AlgorithmName,
    /// Flows within the radius that make a flow the core of a group; with 1 all flows are cores
    #[arg(long, value_name = "N", default_value = "1")]
    min_points: std::num::NonZeroU32,
    /// Distance within which two flows are in one group [default: that of the metric]
    #[arg(long, value_name = "DISTANCE")]
    radius: Option<f64>,
    /// Show the N largest groups
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Take the names of hosts, labels and files out of all results, so that they can be shared
    #[arg(long)]
    anonymise: bool,
    /// Write the groups as a trace of coflows, whose ports are the hosts; - for standard output,
    /// without the table
    #[arg(short, long, value_name = "TRACE")]
    output: Option<PathBuf>,
    /// Write a CSV file with the host of each port of the trace
    #[arg(long, value_name = "FILE.csv", requires = "output")]
    hosts: Option<PathBuf>,
    /// Write the records as a CSV file with their groups
    #[arg(long, value_name = "FILE.csv")]
    per_flow: Option<PathBuf>,
    /// Write a page with a picture of the groups, and their table
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// A form by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormName {
    Diagonal,
    Full,
}

/// An algorithm by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AlgorithmName {
    Rough,
    Dbscan,
}

/// Pairs of flows of each kind from which a metric is learned.
const PAIRS: u32 = 10_000;

impl Identify {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let options = self.options()?;
        self.check_outputs()?;
        let given = self.metric.as_deref().map(read_metric).transpose()?;
        let records = self.read(options)?;
        let mut metric = match (&self.train, given) {
            (Some(file), _) => self.train(&records, file)?,
            (None, given) => given.unwrap_or_default(),
        };
        if let Some(radius) = self.radius {
            metric.leader_radius *= radius / metric.radius;
            metric.radius = radius;
        }
        let groups = identify(&records.flows, &metric, self.algorithm());
        let method = self.method(&metric, confidence(&records.flows));
        let (records, name) = match self.anonymise {
            true => (records.anonymised(), "anonymised".to_owned()),
            false => (records, self.name()),
        };
        let grouped = Grouped::new(&records, groups);
        self.write(&grouped)?;
        let found = Identification::of(&grouped, &name, method, self.top);
        if let Some(file) = &self.report {
            let page = identification_page(&found, &grouped, &invocation::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        if self.output.as_ref().is_some_and(|file| file.as_os_str() == "-") {
            return Ok(());
        }
        output::print(
            |out| if self.json { write_json(&found, out) } else { write!(out, "{found}") },
        )
    }

    fn options(&self) -> Result<Options, Failure> {
        let columns = self.columns.as_deref().map(str::parse::<Columns>).transpose()?;
        let stitch = match self.stitch.as_deref() {
            None => Stitch::WhereShown,
            Some("off") => Stitch::Off,
            Some(text) => Stitch::UpTo(quantity::time("--stitch", text)?),
        };
        Ok(Options {
            format: self.from.as_deref().map(records::format).transpose()?,
            columns,
            stitch,
            skip_bad: self.skip_bad,
            strict: self.strict,
        })
    }

    /// Reads all files, and says what was repaired.
    fn read(&self, options: Options) -> Result<Records, Failure> {
        let bytes = self.files.iter().map(|file| fs::metadata(file).map_or(0, |it| it.len()));
        let bar = Bar::bytes(bytes.sum());
        let mut reader = Reader::new(options);
        for file in &self.files {
            reader.open(file, |bytes| bar.advance_bytes(bytes))?;
        }
        let records = reader.finish()?;
        drop(bar);
        let repairs = &records.repairs;
        for note in repairs.notes().into_iter().chain(together_table(&repairs.together)) {
            output::note(&format!("{}: {note}", self.name()));
        }
        Ok(records)
    }

    fn check_outputs(&self) -> Result<(), Failure> {
        if let Some(radius) = self.radius.filter(|it| !(*it > 0.0 && it.is_finite())) {
            return Err(Failure::argument("--radius", "a number above 0", radius));
        }
        if let Some(file) = &self.train {
            output::check(file)?;
        }
        if let Some(file) = &self.output {
            if self.json && file.as_os_str() == "-" {
                return Err(Failure::argument(
                    "--output",
                    "a file beside --json",
                    "standard output",
                ));
            }
            output::check_trace(file)?;
            self.files.iter().try_for_each(|input| output::check_apart("output", file, input))?;
        }
        for (option, file) in [("--hosts", &self.hosts), ("--per-flow", &self.per_flow)] {
            let Some(file) = file else { continue };
            output::check_format(option, file, output::TABLE)?;
            self.files.iter().try_for_each(|input| output::check_apart(option, file, input))?;
        }
        match &self.report {
            Some(file) => output::check_format("--report", file, output::PAGE),
            None => Ok(()),
        }
    }

    /// Learns a metric from the labels, and writes it.
    fn train(&self, records: &Records, file: &Path) -> Result<Metric, Failure> {
        let labels: Vec<u32> = records.hidden.iter().filter_map(|hidden| hidden.label).collect();
        let form = match self.form {
            FormName::Diagonal => Form::Diagonal,
            FormName::Full => Form::Full,
        };
        let learning = Learning { form, pairs: PAIRS, seed: self.seed };
        let metric = learn(&records.flows, &labels, &learning)
            .map_err(|error| Failure::Input(format!("--train: {}: {error}", self.name())))?;
        output::write(file, |out| out.write_all(metric.to_text().as_bytes()))?;
        Ok(metric)
    }

    fn algorithm(&self) -> Algorithm {
        let min_points = self.min_points.get();
        match self.algorithm {
            AlgorithmName::Rough => Algorithm::Rough { min_points },
            AlgorithmName::Dbscan => Algorithm::Dbscan { min_points },
        }
    }

    /// The file, or the first one and how many more.
    fn name(&self) -> String {
        let name = |file: &String| match file.as_str() {
            "-" => "standard input".to_owned(),
            file => file.to_owned(),
        };
        match self.files.as_slice() {
            [first, _, _, ..] => format!("{} and {} more files", name(first), self.files.len() - 1),
            files => files.iter().map(name).collect::<Vec<_>>().join(" and "),
        }
    }

    fn method(&self, metric: &Metric, confidence: f64) -> Method {
        let algorithm = match self.algorithm {
            AlgorithmName::Rough => "rough",
            AlgorithmName::Dbscan => "dbscan",
        };
        let file = self.train.as_ref().or(self.metric.as_ref());
        Method {
            algorithm: algorithm.to_owned(),
            min_points: self.min_points.get(),
            metric: file.map_or("default".to_owned(), |file| file.display().to_string()),
            radius: metric.radius,
            confidence,
        }
    }

    /// Writes the trace, its hosts and the records with their groups.
    fn write(&self, grouped: &Grouped<'_>) -> Result<(), Failure> {
        if let Some(file) = &self.output {
            let (workload, left) = grouped.workload()?;
            if left.flows > 0 {
                output::note(&format!(
                    "{}: left out: flows without bytes, {}; groups that have no others, {}",
                    file.display(),
                    left.flows,
                    left.groups
                ));
            }
            output::write_trace(file, &self.files, || Ok(workload))?;
        }
        if let Some(file) = &self.hosts {
            output::write(file, |out| {
                writeln!(out, "port,host")?;
                let mut hosts = grouped.hosts().into_iter().enumerate();
                hosts.try_for_each(|(port, host)| {
                    writeln!(out, "{port},{}", grouped.records.host(host))
                })
            })?;
        }
        match &self.per_flow {
            Some(file) => output::write(file, |out| write_with_groups(grouped, out)),
            None => Ok(()),
        }
    }
}
