//! Every policy that `covey policies` lists, on a trace. CPU is user and system time of the whole
//! process, including the reading of the trace.

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::page::Output;
use crate::program::{Covey, progress};
use crate::results::{Policy, Summary};
use crate::table::{Table, code};

/// Measure every policy on a trace
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    #[command(flatten)]
    output: Output,
    /// Runs of each policy, of which the minimum of CPU counts
    #[arg(long, env = "RUNS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/policies.md", "policies", || self.table())
    }

    fn table(&self) -> Result<String> {
        let covey = Covey::find()?;
        let mut table = Table::new(
            4,
            ["policy", "what it does", "knows sizes", "source", "mean CCT, s", "p50, s", "CPU, s"],
        );
        for Policy { name, knows, summary, source } in Policy::all(&covey)? {
            progress(&name);
            let runs = covey.repeat(self.runs, &self.trace.path, &name, &[])?;
            let cct_s = runs.json::<Summary>()?.cct_s;
            table.row([
                code(name),
                summary,
                knows_sizes(&knows).to_owned(),
                source,
                format!("{:.2}", cct_s.mean),
                format!("{:.3}", cct_s.p50),
                format!("{:.2}", runs.cpu_s),
            ]);
        }
        Ok(table.to_string())
    }
}

/// The words of the page for what a policy knows.
fn knows_sizes(knows: &str) -> &'static str {
    match knows {
        "sized" => "yes",
        "unlabelled" => "no; nor coflows",
        _ if knows.contains("local") => "no; local",
        _ => "no",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_knows_is_said_in_the_words_of_the_page() {
        let words = ["sized", "unsized", "unsized, local", "unlabelled"].map(knows_sizes);
        assert_eq!(words, ["yes", "no", "no; local", "no; nor coflows"]);
    }
}
