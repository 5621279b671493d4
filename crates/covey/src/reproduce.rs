//! `covey reproduce`: repeats a paper's evaluation.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use covey_experiment::{FABRIC, Setup, cores};
use covey_report::write_json;
use covey_reproduce::Selection;
use covey_reproduce::evaluation::{self, STAND_IN};
use covey_reproduce::report::Report;
use covey_reproduce::reproduction::{Reproduction, Scope};
use covey_reproduce::spark::SparkRuns;

use crate::failure::Failure;
use crate::invocation;
use crate::output;
use crate::progress::Bar;

/// Repeat a paper's evaluation: published values, ours, and whether they hold
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --report philae.html
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --table 3
  covey reproduce swallow --figure 4
  covey reproduce swallow --table VI --json
  covey reproduce aalo --trace FB2010-1Hr-150-0.txt
  covey reproduce stream --trace FB2010-1Hr-150-0.txt --figure 6
  covey reproduce philae --live --trace FB2010-1Hr-150-0.txt
  covey reproduce philae --live --table 1 --seconds 60
  covey reproduce philae --testbed --trace FB2010-1Hr-150-0.txt
  covey reproduce philae --testbed --table 5 --seconds 900
  covey reproduce stream --testbed
  covey reproduce swallow --testbed
  covey reproduce swallow --testbed --every 4 --table VII
  covey reproduce swallow --spark runs.json
  covey reproduce aalo --live
  covey reproduce aalo --testbed --every 10
  covey reproduce coda --testbed --every 10
The papers used an hour of a Facebook cluster, which is public (README says where) and not included.
Without it builtin:fb-like stands in, whose results cannot be compared with published values.
Examples and workloads that the papers define themselves need no trace.
With --live the coordinator runs in a process of its own, with an agent for each port: of Philae,
Tables 1, 6 and 7. It takes --seconds for each of three policies, and for each number of ports: for
Tables 1 and 6 three times --seconds, with Table 7 six times. Of Aalo, Section 7.6 with 100 and
10,000 agents that all send, --seconds for each; the trace does not matter.
With --testbed real flows go between emulated hosts of 100 Mbit/s (see covey testbed), which needs root.
Of Philae it measures Table 5 and Figure 6, four to six minutes for each of four runs; of Stream Figures 5 and
11, with nobody in charge, ten minutes in all; of Swallow Tables I and VII and Figures 7a and 7b, on shuffles
made as compressible as Table I's, seven minutes in all; of Aalo Section 7.2, three runs of four to six
minutes; of CODA Section 6.2, two runs. With --every 10 these take less than two minutes each.
With --spark it shows what applications took and sent on Spark: of Swallow Tables I, VII and VIII and Figures 7a
and 7b. `make measure WHAT=spark-swallow` writes the file.")]
pub struct Reproduce {
    /// The paper
    #[arg(value_enum, ignore_case = true)]
    paper: Name,
    /// The Facebook trace, or another trace instead [default: builtin:fb-like]
    #[arg(long, value_name = "TRACE")]
    trace: Option<String>,
    /// Only this table, such as 3 or VI
    #[arg(long, value_name = "N", conflicts_with = "figure")]
    table: Option<String>,
    /// Only this figure, such as 4 or 4a
    #[arg(long, value_name = "N")]
    figure: Option<String>,
    /// Simulate another network than the papers', as in `covey simulate`; no value is compared with
    /// a published one then
    #[arg(long, value_name = "FABRIC", default_value = FABRIC, conflicts_with = "replay")]
    fabric: String,
    /// Measure the values that need a live coordinator
    #[arg(long, group = "replay")]
    pub live: bool,
    /// With --live, and for a trace with --testbed: length of the replayed part, in seconds of the
    /// trace; of a trace less than 600 is not compared with published values [default: 600 with
    /// --live, 30 for Aalo; the whole trace with --testbed]
    #[arg(long, value_name = "S", requires = "replay")]
    pub seconds: Option<f64>,
    /// Measure with real flows between emulated hosts
    #[arg(long, group = "replay")]
    testbed: bool,
    /// With --testbed: replay only every Nth coflow; for Stream, an Nth of the coflows; for
    /// Swallow, every Nth application
    #[arg(long, value_name = "N", default_value_t = 1, requires = "testbed")]
    pub every: usize,
    /// Show what was measured on a cluster of Spark
    #[arg(
        long,
        value_name = "RUNS.json",
        group = "replay",
        conflicts_with_all = ["trace", "seconds"]
    )]
    spark: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write a page with tables and figures that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// The bytes of a file, at most [`MAX_BYTES`].
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= MAX_BYTES {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("expected at most {MAX_BYTES} bytes"))),
    }
}

/// Measurements of Spark have at most so many bytes: a hundred thousand runs.
const MAX_BYTES: u64 = 64 << 20;

/// The longest part of a trace that is replayed, in seconds: a day.
const MAX_S: f64 = 86400.0;

/// The progress bar of all runs of a plan.
pub fn bar(plan: &Reproduction) -> Bar {
    let what = format!("coflows of {} runs", plan.runs().len());
    Bar::coflows(evaluation::coflows(plan), &what)
}

/// The papers whose evaluation can be repeated.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    // USENIX ATC 2019.
    Philae,
    // IPDPS 2018.
    Swallow,
    // SIGCOMM 2015.
    Aalo,
    // ICNP.
    Stream,
    // SIGCOMM 2016.
    Coda,
}

impl Reproduce {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let report = match &self.spark {
            Some(file) => self.show(file)?,
            None if self.live || self.testbed => self.measure()?,
            None => self.simulate()?,
        };
        if let Some(file) = &self.report {
            let page = report.html_page(&invocation::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(
            |out| {
                if self.json { write_json(&report, out) } else { write!(out, "{report}") }
            },
        )
    }

    fn simulate(&self) -> Result<Report, Failure> {
        let setup = Setup { fabric: self.fabric.clone(), ..Setup::default() };
        let is_papers = !setup.network(0)?.has_inner_links();
        let plan = self.plan(Scope::Simulation)?;
        let plan = if is_papers { plan } else { plan.on(&self.fabric) };
        self.check_report()?;
        let bar = bar(&plan);
        Ok(evaluation::reproduce(plan, cores(), &bar)?)
    }

    /// What was measured on a cluster of Spark, beside the paper.
    fn show(&self, file: &Path) -> Result<Report, Failure> {
        self.check_report()?;
        let wrong = |what: String| Failure::Input(format!("{}: {what}", file.display()));
        let json = read(file).map_err(|error| wrong(error.to_string()))?;
        let runs = SparkRuns::read(&json).map_err(wrong)?;
        Ok(evaluation::on_spark(self.paper(), &self.selection(), runs)?)
    }

    pub fn plan(&self, scope: Scope) -> Result<Reproduction, Failure> {
        let trace = self.trace.as_deref().unwrap_or(STAND_IN);
        let plan = evaluation::plan(self.paper(), &self.selection(), trace, scope)?;
        if self.trace.is_some() && !plan.uses_trace() {
            output::note("--trace changes nothing: these runs have workloads of their own");
        }
        Ok(plan)
    }

    pub fn seconds(&self) -> Result<Option<f64>, Failure> {
        match self.seconds {
            Some(seconds) if !(1.0..=MAX_S).contains(&seconds) => {
                Err(Failure::argument("--seconds", format!("from 1 to {MAX_S}"), seconds))
            }
            seconds => Ok(seconds),
        }
    }

    pub fn check_report(&self) -> Result<(), Failure> {
        let check = |file: &Path| output::check_format("--report", file, output::PAGE);
        self.report.as_deref().map_or(Ok(()), check)
    }

    pub fn paper(&self) -> &'static str {
        match self.paper {
            Name::Philae => "philae",
            Name::Swallow => "swallow",
            Name::Aalo => "aalo",
            Name::Stream => "stream",
            Name::Coda => "coda",
        }
    }

    fn selection(&self) -> Selection {
        match (&self.table, &self.figure) {
            (Some(number), _) => Selection::Table(number.clone()),
            (None, Some(number)) => Selection::Figure(number.clone()),
            (None, None) => Selection::All,
        }
    }
}
