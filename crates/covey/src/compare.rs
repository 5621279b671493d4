//! `covey compare`: several policies on the same trace.

use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use covey_experiment::{baseline, cores};
use covey_report::{Comparison, html_page, write_json, write_per_coflow_csv};

use crate::experiment::Arguments;
use crate::failure::Failure;
use crate::output;

/// Compare policies on a trace
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey compare builtin:fb-like --report report.html
  covey compare trace.txt --policies sebf,aalo,aalo:queues=strict,delta=0 --baseline aalo
  covey compare trace.txt --policies fair,philae:thin=5 --json
In the list, key=value belongs to the policy before it. `covey policies` lists the policies and
their parameters.")]
pub struct Compare {
    /// The policies, each NAME[:key=value,…]
    #[arg(long, value_name = "LIST", default_value = "covey,fair,fifo,aalo,philae,sebf,sincronia")]
    policies: String,
    /// The policy of the list that the others are measured against [default: fair if listed, else
    /// the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    setup: Arguments,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Write a page with table and plots that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write a CSV file for each policy into this directory, with a line for each coflow
    #[arg(long, value_name = "DIR")]
    per_coflow: Option<PathBuf>,
    /// Job completion times as if each coflow were the shuffle of a job that computes as well, with
    /// the published shares of time in shuffle drawn by SEED (Philae 9.2), relative to the baseline
    #[arg(long, value_name = "SEED")]
    jct_shares: Option<u64>,
    /// How many policies are simulated at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Compare {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let contenders = self.setup.setup().contenders(&self.policies)?;
        let baseline = baseline(self.baseline.as_deref(), &contenders)?;
        let labels: Vec<&str> = contenders.iter().map(|c| c.label.as_str()).collect();
        let tables = Tables::in_folder(self.per_coflow.as_deref(), &labels)?;
        if let Some(file) = &self.report {
            output::check_format("--report", file, output::PAGE)?;
        }

        let workload = self.setup.open()?;
        let jobs = self.jobs.map_or_else(cores, NonZeroUsize::get);
        let runs = self.setup.run(&workload, contenders, true, jobs)?;
        let mut comparison = Comparison::new(runs, baseline)?;
        if let Some(seed) = self.jct_shares {
            if comparison.summaries()[baseline].jobs.is_some() {
                let expected = "a trace of coflows without jobs";
                return Err(Failure::argument("--jct-shares", expected, "one with jobs"));
            }
            comparison = comparison.with_jct_shares(seed);
        }

        tables.write(&comparison)?;
        if let Some(file) = &self.report {
            let page = html_page(&comparison, &output::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(|out| {
            if self.json { write_json(&comparison, out) } else { write!(out, "{comparison}") }
        })
    }
}

/// The CSV files of policies, each with a line for each coflow.
pub struct Tables(Option<(PathBuf, Vec<PathBuf>)>);

impl Tables {
    /// The file of each policy, known to be writable; none if there is no folder for them.
    pub fn in_folder(folder: Option<&Path>, labels: &[&str]) -> Result<Tables, Failure> {
        let Some(folder) = folder else { return Ok(Tables(None)) };
        if !folder.is_dir() && folder.extension().is_some_and(|it| it.eq_ignore_ascii_case("csv")) {
            let expected = "a folder, where each policy gets a CSV file";
            let found = format!("'{}'", folder.display());
            return Err(Failure::argument("--per-coflow", expected, found));
        }
        let files: Vec<PathBuf> = labels.iter().map(|it| folder.join(file_name(it))).collect();
        if folder.is_dir() {
            files.iter().try_for_each(|file| output::check(file))?;
        } else if folder.exists() {
            let error = ErrorKind::NotADirectory.into();
            return Err(Failure::Input(output::message(folder, &error)));
        } else {
            output::check(folder)?;
        }
        Ok(Tables(Some((folder.to_owned(), files))))
    }

    /// Writes them.
    pub fn write(&self, comparison: &Comparison<'_>) -> Result<(), Failure> {
        let Some((folder, files)) = &self.0 else { return Ok(()) };
        make(folder)?;
        comparison
            .runs()
            .iter()
            .zip(files)
            .try_for_each(|(run, file)| output::write(file, |out| write_per_coflow_csv(run, out)))
    }
}

/// A file name, on every system, for what a user wrote.
fn file_name(label: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || "=.-+".contains(c) { c } else { '_' };
    format!("{}.csv", label.chars().map(keep).collect::<String>())
}

/// Makes a folder, if it is not there.
fn make(folder: &Path) -> Result<(), Failure> {
    match fs::create_dir(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::Other(output::message(folder, &e)))
        }
        _ => Ok(()),
    }
}
