//! What networks with a core cost: mean CCT, CPU and peak memory of policies on FatTrees.

use std::fmt::Write as _;
use std::fs;

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::page::Output;
use crate::program::{Covey, progress};
use crate::results::{Policy, Summary};
use crate::scratch::Scratch;
use crate::table::{Table, code};

const EIGHT: &str = "fat-tree:k=8,place=pack";
const CLASSES: &str = "aalo:K=4,queues=classes,delta=0";

/// Measure policies on FatTrees
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    #[command(flatten)]
    output: Output,
    /// Runs of each, of which the minimum of CPU and the greatest peak count
    #[arg(long, env = "RUNS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The maximum CPU time of a run in seconds; a longer run is stopped, and the table says so
    #[arg(long, env = "LIMIT", default_value_t = 60)]
    limit: u64,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/fabrics.md", "fabrics", || self.text())
    }

    fn text(&self) -> Result<String> {
        let covey = Covey::find()?.with_limit(self.limit);
        let scratch = Scratch::new()?;
        let wide = scratch.path("wide.txt")?;
        fs::write(&wide, wide_coflow()?)?;

        let trace = self.trace.path.as_str();
        let (modulo, spray) = (format!("{EIGHT},ecmp=modulo"), format!("{EIGHT},ecmp=spray"));
        let policies = Policy::all(&covey)?;
        let mut rows = vec![
            (trace, modulo.as_str(), "fair"),
            (trace, &spray, "fair"),
            (trace, &modulo, CLASSES),
            (trace, &spray, CLASSES),
            (trace, EIGHT, "fair"),
            (trace, EIGHT, CLASSES),
        ];
        let others = policies.iter().filter(|policy| policy.name != "fair");
        rows.extend(others.map(|policy| (trace, EIGHT, policy.name.as_str())));
        rows.extend([
            (trace, "fat-tree:k=16,place=rack", "fair"),
            (trace, "fat-tree:k=24,place=rack", "fair"),
            (trace, "fat-tree:k=48,place=rack", "fair"),
            (trace, "fat-tree:k=48,place=rack", "aalo"),
            (trace, "fat-tree:k=48,place=rack", "stream"),
            (trace, "fat-tree:k=48,place=rack", "fifo-lm"),
            (wide.as_str(), "fat-tree:k=128,place=pack", "fair"),
        ]);
        let mut table = Table::new(2, ["fabric", "policy", "mean CCT, s", "CPU, s", "peak, MB"]);
        for (trace, fabric, policy) in rows {
            progress(&format!("{fabric} {policy}"));
            let run = covey.repeat(self.runs, trace, policy, &["--fabric", fabric])?;
            let (mean, cpu) = if run.is_stopped {
                ("stopped".to_owned(), format!("over {}", self.limit))
            } else {
                let summary: Summary = run.json()?;
                (format!("{:.6}", summary.cct_s.mean), format!("{:.2}", run.cpu_s))
            };
            table.row([code(fabric), code(policy), mean, cpu, run.peak_mb.to_string()]);
        }
        Ok(format!(
            "Trace: `{}`, links of 1 Gbps. CPU is user and system time, reading the trace included.\n\n\
             {table}",
            self.trace.name()
        ))
    }
}

/// One coflow between 316 senders and 316 receivers, among the 524,288 hosts of a FatTree with
/// k = 128.
fn wide_coflow() -> Result<String> {
    let mut text = "524288 1\n0 0 316".to_owned();
    for k in 0..316 {
        write!(text, " {}", 1650 * k)?;
    }
    write!(text, " 316")?;
    for k in 0..316 {
        write!(text, " {}:{}", 1650 * k + 800, 1 + k % 7)?;
    }
    Ok(text + "\n")
}
