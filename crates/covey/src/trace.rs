//! `covey trace`: describes, converts and makes traces.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use covey_report::write_json;
use covey_trace::{Stats, open, transform};

use crate::failure::Failure;
use crate::output;
use crate::transform::Transform;

/// Describe, convert, generate and transform traces
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace info trace.txt
  covey trace filter trace.txt --min-width 8 -o wide.jsonl
  covey trace skew builtin:fb-like --sigma 0.3 | covey trace burst - | covey compare -
  covey trace dag trace.txt --shape tao -o jobs.jsonl
Each command that makes a workload prints a summary on standard error; the same seed makes the
same workload. docs/workloads.md has the sources of the workloads.")]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(Info),
    Convert(Convert),
    Replicate(Replicate),
    #[command(flatten)]
    Transform(Transform),
}

/// Print the statistics of a trace: width, length, size, skew, the papers' bins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace info trace.txt
  covey trace info builtin:fb-like:seed=2 --json")]
struct Info {
    /// A trace file (also a gzip one), - for standard input, or builtin:NAME[:key=value,…]
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
    /// A trace file (also a gzip one), - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// The file to write, - for standard output
    out: PathBuf,
}

/// Write a trace with K copies of each coflow, each copy on ports of its own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace replicate trace.txt 6 six-fold.jsonl
Copy number c, from 0, of coflow 7 has the name 7.c and arrives with the original.")]
struct Replicate {
    /// A trace file (also a gzip one), - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// Number of copies, including the original
    #[arg(value_name = "K")]
    copies: u32,
    /// The file to write, - for standard output
    out: PathBuf,
}

impl Trace {
    /// Runs the command.
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
            Command::Convert(Convert { trace, out }) => {
                output::write_trace(&out, || Ok(open(&trace)?))
            }
            Command::Replicate(Replicate { trace, copies, out }) => {
                output::write_trace(&out, || Ok(transform::replicate(&open(&trace)?, copies)?))
            }
            Command::Transform(transform) => transform.run(),
        }
    }
}
