//! `covey compare`: several policies on the same trace.

use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use covey_report::{Comparison, html_page, write_json, write_per_coflow_csv};

use crate::experiment::{Contender, Setup, cores};
use crate::failure::Failure;
use crate::output;

/// The baseline, where the user names none and it is there.
const BASELINE: &str = "fair";

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
    setup: Setup,
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
        let contenders = self.contenders()?;
        let baseline = self.baseline(&contenders)?;
        let tables = self.tables(&contenders)?;
        if let Some(file) = &self.report {
            output::check(file)?;
        }

        let experiment = self.setup.load()?;
        let jobs = self.jobs.map_or_else(cores, NonZeroUsize::get);
        let runs = experiment.run(contenders, true, jobs)?;
        let mut comparison = Comparison::new(runs, baseline)?;
        if let Some(seed) = self.jct_shares {
            if comparison.summaries()[baseline].jobs.is_some() {
                let expected = "a trace of coflows without jobs";
                return Err(Failure::argument("--jct-shares", expected, "one with jobs"));
            }
            comparison = comparison.with_jct_shares(seed);
        }

        if let Some(folder) = &self.per_coflow {
            make(folder)?;
        }
        for (run, file) in comparison.runs().iter().zip(&tables) {
            output::write(file, |out| write_per_coflow_csv(run, out))?;
        }
        if let Some(file) = &self.report {
            let page = html_page(&comparison, &output::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(|out| {
            if self.json { write_json(&comparison, out) } else { write!(out, "{comparison}") }
        })
    }

    /// The policies, each once.
    fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let mut contenders: Vec<Contender> = Vec::new();
        for spec in covey_sched::split_list(&self.policies) {
            if contenders.iter().any(|c| c.label == spec) {
                let found = format!("'{spec}' twice");
                return Err(Failure::argument("--policies", "each policy once", found));
            }
            contenders.push(self.setup.contender(&spec)?);
        }
        Ok(contenders)
    }

    /// The position of the baseline: the policy that was written so, or else the only one of that
    /// name.
    fn baseline(&self, contenders: &[Contender]) -> Result<usize, Failure> {
        let labelled = |name: &str| contenders.iter().position(|c| c.label == name);
        let named = |name: &str| {
            let all = contenders.iter().enumerate().filter(|(_, c)| c.name == name);
            all.map(|(i, _)| i).collect::<Vec<usize>>()
        };
        let Some(name) = &self.baseline else {
            return Ok(labelled(BASELINE).unwrap_or(0));
        };
        match (labelled(name), named(name).as_slice()) {
            (Some(one), _) | (None, &[one]) => Ok(one),
            (None, several) => {
                let labels: Vec<&str> = contenders.iter().map(|c| c.label.as_str()).collect();
                let expected = format!("one of {}", labels.join(" | "));
                let why = if several.is_empty() { "" } else { ", which may mean several" };
                Err(Failure::argument("--baseline", expected, format!("'{name}'{why}")))
            }
        }
    }

    /// The CSV file of each policy, known to be writable; none if none are wanted.
    fn tables(&self, contenders: &[Contender]) -> Result<Vec<PathBuf>, Failure> {
        let Some(folder) = &self.per_coflow else { return Ok(Vec::new()) };
        let files = contenders.iter().map(|c| folder.join(file_name(&c.label)));
        let files: Vec<PathBuf> = files.collect();
        if folder.is_dir() {
            files.iter().try_for_each(|file| output::check(file))?;
        } else if folder.exists() {
            let error = ErrorKind::NotADirectory.into();
            return Err(Failure::Input(output::message(folder, &error)));
        } else {
            output::check(folder)?;
        }
        Ok(files)
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
