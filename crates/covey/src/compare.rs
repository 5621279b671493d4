//! `covey compare`: several policies on the same trace.

use std::num::NonZeroUsize;

use clap::Args;
use covey_experiment::{baseline, cores};
use covey_report::{Comparison, write_json};

use crate::comparison::Outputs;
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
  covey compare trace.txt --policies aalo,sebf --fabric leaf-spine:leaves=10,spines=2,hosts=15
  covey compare trace.txt --policies fair,aalo,coda --rung mixed-denser --metric metric.json
In the list, key=value belongs to the policy before it. `covey policies` lists the policies and
their parameters.")]
pub struct Compare {
    /// The policies, each NAME[:key=value,…]
    #[arg(long, value_name = "LIST", default_value = "covey,fair,fifo,aalo,philae,sebf,sincronia")]
    policies: String,
    /// The baseline, one of the listed policies [default: fair if listed, else the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    setup: Arguments,
    #[command(flatten)]
    outputs: Outputs,
    /// Number of policies simulated at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Compare {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let contenders = self.setup.setup().contenders(&self.policies)?;
        let baseline = baseline(self.baseline.as_deref(), &contenders)?;
        let labels: Vec<&str> = contenders.iter().map(|c| c.label.as_str()).collect();
        let tables = self.outputs.check(&labels)?;
        let scene = self.setup.open()?;
        let jobs = self.jobs.map_or_else(cores, NonZeroUsize::get);
        let runs = self.setup.run(&scene, contenders, true, jobs)?;
        let comparison = self.outputs.write(Comparison::new(runs, baseline)?, &tables)?;
        output::print(|out| {
            if self.outputs.json {
                write_json(&comparison, out)
            } else {
                write!(out, "{comparison}")
            }
        })
    }
}
