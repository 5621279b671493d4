//! How cost grows: the CPU of each policy at one of several sizes, and the exponent of growth
//! between the last two sizes that it finishes. Sizes are
//!
//! - coflows that are present: n coflows of four flows, all at time 0 on 150 ports;
//! - flows: twenty coflows of n flows each, all at time 0 on 150 ports;
//! - ports: 2,000 coflows of four flows, all at time 0 on n ports;
//! - events: n coflows of four flows, one each 18 ms, which 150 ports carry.
//!
//! Last, 100,000 coflows of one flow, all at time 0 on 900 ports: CPU and peak memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::Args;

use crate::Result;
use crate::input::specs;
use crate::page::Output;
use crate::program::{Covey, progress};
use crate::results::Policy;
use crate::scratch::Scratch;
use crate::table::{Table, code};

/// Measure how costs grow with coflows, flows, ports and events
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    /// The policies [default: all]
    #[arg(long, env = "POLICIES")]
    policies: Option<String>,
    /// The maximum CPU time of a run in seconds; a longer run is stopped, and the table says so
    #[arg(long, env = "LIMIT", default_value_t = 60)]
    limit: u64,
}

/// Something that grows.
struct Dimension {
    /// What the table shows, at the size `shown`.
    column: &'static str,
    shown: u64,
    sizes: &'static [u64],
    workload: fn(u64) -> Workload,
}

const DIMENSIONS: [Dimension; 4] = [
    Dimension {
        column: "4,000 coflows",
        shown: 4000,
        sizes: &[1000, 2000, 4000, 8000, 16000],
        workload: |n| Workload { coflows: n, ..FOUR_FLOWS },
    },
    Dimension {
        column: "20 of 1,000 flows",
        shown: 1000,
        sizes: &[250, 500, 1000, 2000],
        workload: |n| Workload { coflows: 20, flows: n, ..FOUR_FLOWS },
    },
    Dimension {
        column: "600 ports",
        shown: 600,
        sizes: &[75, 150, 300, 600],
        workload: |n| Workload { coflows: 2000, ports: n, ..FOUR_FLOWS },
    },
    Dimension {
        column: "16,000 in turn",
        shown: 16000,
        sizes: &[2000, 4000, 8000, 16000],
        workload: |n| Workload { coflows: n, gap_s: 0.018, ..FOUR_FLOWS },
    },
];

/// Coflows of four flows, all at once.
const FOUR_FLOWS: Workload = Workload { coflows: 0, flows: 4, ports: 150, gap_s: 0.0 };
/// Coflows of one flow, all at once.
const THIN: Workload = Workload { coflows: 100_000, flows: 1, ports: 900, gap_s: 0.0 };

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/measurements/simulator.md", "growth", || self.table())
    }

    fn table(&self) -> Result<String> {
        let covey = Covey::find()?.with_limit(self.limit);
        let policies = match &self.policies {
            Some(list) => specs(list),
            None => Policy::all(&covey)?.into_iter().map(|policy| policy.name).collect(),
        };
        let scratch = Scratch::new()?;
        let file = scratch.path("workload.jsonl")?;
        let mut rows: Vec<Vec<String>> = policies.iter().map(|name| vec![code(name)]).collect();
        for dimension in &DIMENSIONS {
            let mut series: Vec<Series> = policies.iter().map(|_| Series::default()).collect();
            for &size in dimension.sizes {
                (dimension.workload)(size).write(&file)?;
                for (name, series) in policies.iter().zip(&mut series) {
                    series.measure(&covey, &file, name, size)?;
                }
            }
            for (row, series) in rows.iter_mut().zip(&series) {
                row.extend([series.cpu_at(dimension.shown), series.exponent()]);
            }
        }
        THIN.write(&file)?;
        for (name, row) in policies.iter().zip(&mut rows) {
            progress(&format!("{name}: {} coflows of one flow", THIN.coflows));
            let run = covey.simulate(&file, name, &[])?;
            let cpu =
                if run.is_stopped { "stopped".to_owned() } else { format!("{:.2}", run.cpu_s) };
            row.extend([cpu, run.peak_mb.to_string()]);
        }
        let mut columns = vec!["policy"];
        columns.extend(DIMENSIONS.iter().flat_map(|dimension| [dimension.column, "exponent"]));
        columns.extend(["100,000 of one flow", "peak, MB"]);
        let mut table = Table::new(1, columns);
        rows.into_iter().for_each(|row| table.row(row));
        Ok(table.to_string())
    }
}

/// What a policy took at each size so far.
#[derive(Default)]
struct Series {
    cpu_s: Vec<(u64, f64)>,
    is_stopped: bool,
}

impl Series {
    /// Measures a policy at a size, unless it was stopped at a smaller one.
    fn measure(&mut self, covey: &Covey, trace: &str, policy: &str, size: u64) -> Result {
        if !self.is_stopped {
            progress(&format!("{policy}: {size}"));
            let run = covey.simulate(trace, policy, &[])?;
            self.is_stopped = run.is_stopped;
            if !run.is_stopped {
                self.cpu_s.push((size, run.cpu_s));
            }
        }
        Ok(())
    }

    /// The cell with the CPU at a size.
    fn cpu_at(&self, size: u64) -> String {
        let found = self.cpu_s.iter().find(|(at, _)| *at == size);
        found.map_or_else(|| "stopped".to_owned(), |(_, cpu_s)| format!("{cpu_s:.2}"))
    }

    /// The cell with the exponent of growth between the last two sizes: empty if there are fewer,
    /// or if the first of them took less than 0.1 s, which is mostly the start of the program.
    fn exponent(&self) -> String {
        match self.cpu_s[..] {
            [.., (small, before_s), (large, after_s)] if before_s >= 0.1 => {
                format!("{:.1}", (after_s / before_s).ln() / (large as f64 / small as f64).ln())
            }
            _ => String::new(),
        }
    }
}

/// Coflows of some flows between ports at random, one each `gap_s` seconds. Sizes are whole MB, 1
/// to 100. The same workload has always the same flows.
struct Workload {
    coflows: u64,
    flows: u64,
    ports: u64,
    gap_s: f64,
}

impl Workload {
    fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let Self { coflows, flows, ports, gap_s } = self;
        let mut out = BufWriter::new(File::create(path)?);
        let mut random = Random(1);
        writeln!(out, r#"{{"covey_trace":1,"ports":{ports},"coflows":{coflows}}}"#)?;
        for coflow in 1..=*coflows {
            let arrival_s = gap_s * (coflow - 1) as f64;
            write!(out, r#"{{"id":"{coflow}","arrival_s":{arrival_s:.3},"flows":["#)?;
            for flow in 0..*flows {
                let comma = if flow == 0 { "" } else { "," };
                let (src, dst) = (random.below(*ports), random.below(*ports));
                let bytes = 1_000_000 * (1 + random.below(100));
                write!(out, r#"{comma}{{"src":{src},"dst":{dst},"bytes":{bytes}}}"#)?;
            }
            writeln!(out, "]}}")?;
        }
        out.flush()
    }
}

/// The generator of Park and Miller.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0 * 16807 % 2_147_483_647;
        self.0 % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponent(cpu_s: &[(u64, f64)]) -> String {
        Series { cpu_s: cpu_s.to_vec(), is_stopped: false }.exponent()
    }

    #[test]
    fn the_exponent_is_that_between_the_last_two_sizes() {
        assert_eq!(exponent(&[(1000, 9.0), (2000, 1.0), (4000, 4.0)]), "2.0");
        assert_eq!(exponent(&[(75, 0.5), (150, 0.25)]), "-1.0");
    }

    #[test]
    fn there_is_no_exponent_of_short_runs_or_of_one_size() {
        assert_eq!(exponent(&[(1000, 0.09), (2000, 1.0)]), "");
        assert_eq!(exponent(&[(1000, 9.0)]), "");
        assert_eq!(exponent(&[]), "");
    }

    #[test]
    fn a_size_at_which_it_was_stopped_is_said() {
        let series = Series { cpu_s: vec![(1000, 0.5)], is_stopped: true };
        assert_eq!((series.cpu_at(1000), series.cpu_at(2000)), ("0.50".into(), "stopped".into()));
    }

    #[test]
    fn a_workload_is_always_the_same() -> Result {
        let file = tempfile::NamedTempFile::new()?;
        Workload { coflows: 2, flows: 1, ports: 10, gap_s: 0.018 }.write(file.path())?;
        assert_eq!(
            std::fs::read_to_string(file.path())?,
            "{\"covey_trace\":1,\"ports\":10,\"coflows\":2}\n\
             {\"id\":\"1\",\"arrival_s\":0.000,\"flows\":[{\"src\":7,\"dst\":9,\"bytes\":74000000}]}\n\
             {\"id\":\"2\",\"arrival_s\":0.018,\"flows\":[{\"src\":8,\"dst\":0,\"bytes\":73000000}]}\n"
        );
        Ok(())
    }
}
