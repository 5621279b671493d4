//! `covey bound`: lower bounds of the mean completion time of a trace.

use clap::Args;
use covey_experiment::{PORT_RATE, Setup};
use covey_report::{Landmarks, write_json};
use covey_sched::bssi::Bssi;
use covey_sim::bound::{bounds, loads, uncoupled_cct_s};

use crate::failure::Failure;
use crate::output;

/// Bound the mean completion time of all schedules of a trace
#[derive(Debug, Args)]
#[command(after_help = "\
Isolated is the mean time that coflows need alone, single port the best bound from one port, and
lower bound the best bound of all. No schedule is faster than these, even if it knows the future.
Uncoupled is the mean under Sincronia's offline order (BSSI over all coflows, with the trace's
weights) if ports did not depend on each other. It is optimistic for coflows that arrive together,
but not a bound: another order may be better. docs/bounds.md has the details.

Examples:
  covey bound trace.txt
  covey bound builtin:fb-like --port-rate 10gbps --json")]
pub struct Bound {
    /// The workload: a trace file (also a gzip one), - for standard input, or builtin:NAME[:key=value,…]
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Speed of each port in each direction: 1gbps, 100mbps, 128MiB/s
    #[arg(long, value_name = "RATE", default_value = PORT_RATE)]
    port_rate: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Bound {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let rate = Setup { port_rate: Some(self.port_rate), ..Setup::default() }.port_rate()?;
        let workload = covey_trace::open(&self.trace)?;
        let links = vec![rate; workload.ports as usize];
        let mut bssi = Bssi::default();
        for (coflow, loads) in workload.coflows.iter().zip(loads(&workload, &links, &links)) {
            bssi.add(coflow.weight, loads.into_iter());
        }
        let uncoupled = uncoupled_cct_s(&workload, &links, &links, bssi.order());
        let bounds = bounds(&workload, &links, &links);
        let trace = if self.trace == "-" { "standard input" } else { &self.trace };
        let landmarks = Landmarks::of(&workload, trace, rate * 8.0, &bounds, &uncoupled);
        output::print(|out| {
            if self.json { write_json(&landmarks, out) } else { write!(out, "{landmarks}") }
        })
    }
}
