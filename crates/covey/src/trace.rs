//! `covey trace`: workloads by themselves.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use covey_report::write_json;
use covey_trace::{Stats, Workload, open, transform};

use crate::failure::Failure;
use crate::output;

/// Describe, convert, generate and multiply traces
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(Info),
    Convert(Convert),
    Replicate(Replicate),
}

/// Print the statistics of a trace: width, length, size, skew, the papers' bins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace info trace.txt
  covey trace info builtin:fb-like:seed=2 --json")]
struct Info {
    /// A trace file, - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Write a trace as Covey JSON lines, whatever its format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace convert trace.txt trace.jsonl
  covey trace convert builtin:fb-like:seed=2,coflows=100 - | head -3")]
struct Convert {
    /// A trace file, - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// The file to write, - for standard output
    out: PathBuf,
}

/// Write a trace with K copies of each coflow, each copy on ports of its own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace replicate trace.txt 6 six-fold.jsonl
Copy number c, from 0, of coflow 7 is named 7.c and arrives when the original does.")]
struct Replicate {
    /// A trace file, - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// How many copies, the original included
    #[arg(value_name = "K")]
    copies: u32,
    /// The file to write, - for standard output
    out: PathBuf,
}

impl Trace {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Info(Info { trace, json }) => {
                let stats = Stats::of(&open(&trace)?);
                output::print(
                    |out| {
                        if json { write_json(&stats, out) } else { writeln!(out, "{stats}") }
                    },
                )
            }
            Command::Convert(Convert { trace, out }) => write(&out, || Ok(open(&trace)?)),
            Command::Replicate(Replicate { trace, copies, out }) => {
                write(&out, || Ok(transform::replicate(&open(&trace)?, copies)?))
            }
        }
    }
}

/// Writes a workload to the file `path`, made once that is known to be writable.
fn write(path: &Path, make: impl FnOnce() -> Result<Workload, Failure>) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let workload = make()?;
        return output::print(|out| covey_trace::write(&workload, out));
    }
    output::check(path)?;
    let workload = make()?;
    output::write(path, |out| covey_trace::write(&workload, out))
}
