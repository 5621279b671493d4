//! What policies cost on a trace, and on several copies of it side by side.

use std::fmt::Write as _;
use std::process::Command;
use std::{env, fs};

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::page::Output;
use crate::program::{self, Covey, progress};
use crate::results::Summary;
use crate::scratch::Scratch;
use crate::table::{Table, code};

/// The policies that are measured on copies of the trace, too.
const ON_COPIES: [&str; 7] = [
    "fair",
    "fifo",
    "aalo:queues=strict,delta=0",
    "philae:queues=strict",
    "sebf",
    "sebf:share=matching",
    "sincronia",
];
/// The others.
const ON_THE_TRACE: [&str; 2] = ["aalo", "philae"];
/// How many copies of the trace stand side by side.
const COPIES: [u32; 3] = [2, 4, 6];

/// Measure policies on a trace, and on copies of it side by side
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    #[command(flatten)]
    output: Output,
    /// Runs on the trace itself, of which the minimum of CPU counts
    #[arg(long, env = "RUNS", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// What a policy did, and took.
struct Measured {
    summary: Summary,
    cpu_s: f64,
    peak_mb: u64,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/measurements/simulator.md", "simulator", || self.tables())
    }

    fn tables(&self) -> Result<String> {
        let covey = Covey::find()?;
        let trace = &self.trace.path;
        let specs = || ON_COPIES.into_iter().chain(ON_THE_TRACE);
        let measured: Vec<Measured> =
            specs().map(|spec| measure(&covey, trace, spec, self.runs)).collect::<Result<_>>()?;
        progress("the lower bound");
        let bounded = covey.simulate(trace, "fair", &["--bound"])?;
        let bound_s = bounded.json::<Summary>()?.lower_bound_mean_cct_s.ok_or("no lower bound")?;

        let mut policies =
            Table::new(1, ["policy", "mean CCT, s", "over the bound", "CPU, s", "peak, MB"]);
        for (spec, it) in specs().zip(&measured) {
            let mean_s = it.summary.cct_s.mean;
            policies.row([
                code(spec),
                format!("{mean_s:.2}"),
                format!("{:.3}", mean_s / bound_s),
                format!("{:.2}", it.cpu_s),
                it.peak_mb.to_string(),
            ]);
        }
        let sizes = ["ports", "coflows", "flows"].map(str::to_owned).into_iter();
        let mut growth = Table::new(0, sizes.chain(ON_COPIES.map(code)));
        growth.row(row(&measured[..ON_COPIES.len()]));
        let scratch = Scratch::new()?;
        let file = scratch.path("copies.jsonl")?;
        for copies in COPIES {
            covey.transform(trace, &format!("replicate {copies}"), &file)?;
            let of_spec = |spec| measure(&covey, &file, spec, 1);
            growth.row(row(&ON_COPIES.into_iter().map(of_spec).collect::<Result<Vec<_>>>()?));
        }
        let mut text = self.machine()?;
        let bound_cpu_s = bounded.cpu_s - measured[0].cpu_s;
        write!(
            text,
            "\n{policies}\nThe lower bound itself: {bound_s:.2} s, in {bound_cpu_s:.1} s of CPU.\n\n\
             The trace side by side 1, 2, 4 and 6 times (`covey trace replicate`). CPU in s / peak in \
             MB.\n\n{growth}"
        )?;
        Ok(text)
    }

    /// Where and how the tables were measured.
    fn machine(&self) -> Result<String> {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = model.map_or("unknown processor", |(_, model)| model);
        let rustc = program::output(Command::new("rustc").arg("--version"))?;
        Ok(format!(
            "Measured on one core of: {model}, {} {}, {}.\nTrace: `{}`, ports of 1 Gbps. CPU is user \
             and system time, reading the trace included:\nof the trace itself the least of {} runs, \
             else of one.\n",
            env::consts::OS,
            env::consts::ARCH,
            rustc.trim_end(),
            self.trace.name(),
            self.runs,
        ))
    }
}

fn measure(covey: &Covey, trace: &str, spec: &str, runs: u32) -> Result<Measured> {
    progress(&format!("{spec} on {trace}"));
    let run = covey.repeat(runs, trace, spec, &[])?;
    Ok(Measured { summary: run.json()?, cpu_s: run.cpu_s, peak_mb: run.peak_mb })
}

/// CPU and memory of each policy on the same workload.
fn row(measured: &[Measured]) -> Vec<String> {
    let Summary { ports, coflows, flows, .. } = measured[0].summary;
    let mut cells = vec![ports.to_string(), coflows.to_string(), flows.to_string()];
    cells.extend(measured.iter().map(|it| format!("{:.2} / {}", it.cpu_s, it.peak_mb)));
    cells
}
