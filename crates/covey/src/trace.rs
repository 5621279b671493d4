//! `covey trace`: describes, converts and makes traces.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use covey_experiment::Setup;
use covey_report::{FabricLoad, TraceInfo, write_json, write_per_link_csv};
use covey_topology::LinkLoad;
use covey_trace::observe::{recorded, rung};
use covey_trace::records::write_records;
use covey_trace::{Stats, transform};

use crate::failure::Failure;
use crate::input::Input;
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
    Records(Recorded),
    #[command(flatten)]
    Transform(Transform),
}

/// Print the statistics of a trace: width, length, size, skew, the papers' bins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace info trace.txt
  covey trace info builtin:fb-like:seed=2 --json
  covey trace info trace.txt --fabric fat-tree:k=8,oversub=4,place=rack
  covey trace info trace.txt --fabric fat-tree:k=8 --per-link links.csv
With --fabric it also prints for how long the trace keeps the links of each tier busy.")]
struct Info {
    #[command(flatten)]
    input: Input,
    /// Also print how busy the trace keeps the links of this network, by tier
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,
    /// Speed of each port in each direction, with --fabric: 1gbps, 100mbps, 128MiB/s [default:
    /// 1gbps]
    #[arg(long, alias = "link-rate", value_name = "RATE", requires = "fabric")]
    port_rate: Option<String>,
    /// Write a CSV file with a row for each link of the network
    #[arg(long, value_name = "FILE", requires = "fabric")]
    per_link: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Write traces or flow records as one trace in Covey JSON lines, whatever their formats
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace convert trace.txt trace.jsonl
  covey trace convert monday.csv.gz tuesday.csv.gz week.jsonl --columns start=ts,src=client,dst=server,bytes=n,coflow=job
  covey trace convert builtin:fb-like:seed=2,coflows=100 - | head -3")]
struct Convert {
    #[command(flatten)]
    input: Input,
    /// The file to write, - for standard output
    out: PathBuf,
}

/// Write a trace with K copies of each coflow, each copy on ports of its own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey trace replicate trace.txt 6 six-fold.jsonl
  covey trace convert monday.csv tuesday.csv - | covey trace replicate - 2 double.jsonl
Copy number c, from 0, of coflow 7 has the name 7.c and arrives with the original.")]
struct Replicate {
    /// A trace file (also in gzip or zstd), - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// Number of copies, including the original
    #[arg(value_name = "K")]
    copies: u32,
    /// The file to write, - for standard output
    out: PathBuf,
}

/// Write the flows of a trace as labelled flow records, on which to try `covey identify`
#[derive(Debug, Args)]
#[command(after_help = "\
A rung says how dense coflows arrive, how much noise their flows' starts have, and which frameworks and applications
they belong to. From easy to contrived: trace, noise, denser, mixed, mixed-denser, spark, collective, hadoop, batches,
batches-noise, batches-hosts, contrived. docs/identify.md describes them.

Examples:
  covey trace records trace.txt -o flows.csv
  covey trace records builtin:fb-like --rung mixed-denser --seed 2 | covey identify -")]
struct Recorded {
    #[command(flatten)]
    input: Input,
    /// The rung of the ladder
    #[arg(long, value_name = "NAME", default_value = "trace")]
    rung: String,
    /// The seed of noise, frameworks and ports
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The CSV file to write, - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl Recorded {
    fn run(self) -> Result<(), Failure> {
        let rung = rung(&self.rung)?;
        let is_file = self.output.as_os_str() != "-";
        if is_file {
            output::check_format("--output", &self.output, output::TABLE)?;
            self.input.check_apart("--output", &self.output)?;
        }
        let workload = self.input.open()?;
        let records = recorded(&rung.flows(&workload, self.seed)?, &workload);
        match is_file {
            true => output::write(&self.output, |out| write_records(&records, out)),
            false => output::print(|out| write_records(&records, out)),
        }
    }
}

impl Info {
    fn run(self) -> Result<(), Failure> {
        let Info { input, fabric, port_rate, per_link, json } = self;
        let info = match fabric {
            None => TraceInfo { stats: Stats::of(&input.open()?), load: None },
            Some(fabric) => {
                let setup = Setup { fabric, port_rate, ..Setup::default() };
                setup.network(0)?;
                if let Some(file) = &per_link {
                    output::check_format("--per-link", file, output::TABLE)?;
                    input.check_apart("--per-link", file)?;
                }
                let workload = input.open()?;
                let stats = Stats::of(&workload);
                let (network, placed) = setup.place(workload, output::note)?;
                if let Some(file) = &per_link {
                    let links = LinkLoad::all(&placed, network.fabric());
                    output::write(file, |out| write_per_link_csv(&links, out))?;
                }
                TraceInfo { stats, load: Some(FabricLoad::of(&network, &placed)) }
            }
        };
        output::print(|out| if json { write_json(&info, out) } else { write!(out, "{info}") })
    }
}

impl Trace {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Info(info) => info.run(),
            Command::Convert(Convert { input, out }) => {
                output::write_trace(&out, input.items(), || input.open())
            }
            Command::Replicate(Replicate { trace, copies, out }) => {
                let input = Input::of(trace);
                let make = || Ok(transform::replicate(&input.open()?, copies)?);
                output::write_trace(&out, input.items(), make)
            }
            Command::Records(records) => records.run(),
            Command::Transform(transform) => transform.run(),
        }
    }
}
