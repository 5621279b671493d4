//! `covey bound`: lower bounds of the mean completion time of a trace.

use clap::Args;
use covey_experiment::{FABRIC, NO_BOUND, PORT_RATE, Scene, Setup, landmarks};
use covey_report::write_json;

use crate::failure::Failure;
use crate::input::Input;
use crate::output;

/// Bound the mean completion time of all schedules of a trace
#[derive(Debug, Args)]
#[command(after_help = "\
Isolated is the mean time that coflows need alone, single port the best bound from one port, and
lower bound the best bound of all. No schedule is faster than these, even if it knows the future.
Uncoupled is the mean under Sincronia's offline order (BSSI over all coflows, with the trace's
weights) if ports did not depend on each other. It is optimistic for coflows that arrive together,
but not a bound: another order may be better. docs/command-line.md has the details.

Examples:
  covey bound trace.txt
  covey bound builtin:fb-like --port-rate 10gbps --json
  covey bound trace.txt --fabric fat-tree:k=8,oversub=4")]
pub struct Bound {
    #[command(flatten)]
    input: Input,
    /// The network, as in `covey simulate`: flows stay on their paths, so links between hosts
    /// count, too
    #[arg(long, value_name = "FABRIC", default_value = FABRIC)]
    fabric: String,
    /// Speed of each port in each direction: 1gbps, 100mbps, 128MiB/s
    #[arg(long, alias = "link-rate", value_name = "RATE", default_value = PORT_RATE)]
    port_rate: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Bound {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let setup =
            Setup { fabric: self.fabric, port_rate: Some(self.port_rate), ..Setup::default() };
        let rate = setup.port_rate()?;
        let source = self.input.source()?;
        let Scene { network, workload, .. } = setup.open(&source, output::note)?;
        if !workload.is_static() {
            return Err(Failure::argument("TRACE", NO_BOUND[0], NO_BOUND[1]));
        }
        let landmarks = landmarks(&workload, &network, rate, &source.name());
        output::print(|out| {
            if self.json { write_json(&landmarks, out) } else { write!(out, "{landmarks}") }
        })
    }
}
