//! The arguments that name the workload.

use std::path::Path;

use clap::Args;
use covey_trace::records::Columns;
use covey_trace::{Source, Workload};

use crate::failure::Failure;
use crate::output;

/// The workload.
#[derive(Debug, Clone, Args)]
pub struct Input {
    /// The workload: trace files or flow records (also in gzip or zstd), - for standard input, or
    /// builtin:NAME[:key=value,…]; several are one workload, on one clock
    #[arg(required = true, value_name = "TRACE")]
    trace: Vec<String>,
    /// The columns of a table of flows,
    /// start=COLUMN,src=COLUMN,dst=COLUMN,bytes=COLUMN,coflow=COLUMN,… (docs/identify.md lists the
    /// keys) [default: columns with common names]
    #[arg(long, value_name = "MAP")]
    columns: Option<String>,
    /// Take the names of hosts, coflows, jobs, tenants and files out of all results, so that they
    /// can be shared
    #[arg(long)]
    anonymise: bool,
}

impl Input {
    /// What is read.
    pub fn source(&self) -> Result<Source, Failure> {
        let columns = self.columns.as_deref().map(str::parse::<Columns>).transpose()?;
        Ok(Source { items: self.trace.clone(), columns, anonymise: self.anonymise })
    }

    /// A workload by its name.
    pub fn of(trace: String) -> Input {
        Input { trace: vec![trace], columns: None, anonymise: false }
    }

    /// Whether names are taken out of all results.
    pub fn is_anonymous(&self) -> bool {
        self.anonymise
    }

    /// Whether a file is not there.
    pub fn is_missing(&self) -> bool {
        let is_file = |item: &&String| *item != "-" && !item.starts_with("builtin:");
        self.trace.iter().filter(is_file).any(|file| !Path::new(file).exists())
    }

    /// The first file.
    pub fn first(&self) -> &str {
        &self.trace[0]
    }

    /// All files.
    pub fn items(&self) -> &[String] {
        &self.trace
    }

    /// Refuses an output that is one of the files which are read.
    pub fn check_apart(&self, option: &str, file: &Path) -> Result<(), Failure> {
        self.trace.iter().try_for_each(|trace| output::check_apart(option, file, trace))
    }

    /// Reads the workload, and says on standard error what was guessed, merged or left out.
    pub fn open(&self) -> Result<Workload, Failure> {
        Ok(self.source()?.open(&mut output::note)?)
    }
}
