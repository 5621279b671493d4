//! Rounding and other traffic do not change results:
//!
//! - the mean CCT of every policy, and its change if all sizes are multiplied by 1 + 1e-12, by
//!   1 - 1e-12, or each flow by a random factor as near to 1;
//! - six copies of the trace side by side, each on ports of its own: the difference of the copies'
//!   CCTs from those of the trace alone.

use std::collections::HashMap;
use std::fs;

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::program::{Covey, progress};
use crate::results::Policy;
use crate::scratch::Scratch;
use crate::table::{Table, code};

/// The maximum relative change of a mean.
const MOST_MEAN: f64 = 1e-3;
/// The maximum relative change of a CCT.
const MOST_CCT: f64 = 1e-9;
/// How many copies of the trace stand side by side.
const COPIES: usize = 6;
/// The policies on copies. philae's queues take turns in time slots for the whole network.
const ON_COPIES: [&str; 5] =
    ["sebf:share=matching-by-load", "aalo", "philae:queues=strict", "covey", "fair"];

/// Measure what rounding and other traffic change; ends with status 1 if a limit is not met
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let scratch = Scratch::new()?;
        let bench = Bench { covey: Covey::find()?, trace: &self.trace.path, scratch };
        let (means, means_are_met) = bench.means()?;
        println!("{means}");
        let (copies, copies_are_met) = bench.copies()?;
        print!("{copies}");
        if means_are_met && copies_are_met { Ok(()) } else { Err("a limit is not met".into()) }
    }
}

struct Bench<'a> {
    covey: Covey,
    trace: &'a str,
    scratch: Scratch,
}

impl Bench<'_> {
    /// Makes a trace of the trace by a command of `covey trace`; returns its path.
    fn derived(&self, name: &str, command: &str) -> Result<String> {
        let file = self.scratch.path(&format!("{name}.jsonl"))?;
        self.covey.transform(self.trace, command, &file)?;
        Ok(file)
    }

    /// The first table, and whether all its limits are met.
    fn means(&self) -> Result<(Table, bool)> {
        let changed = [
            self.derived("more", "scale --size 1.000000000001")?,
            self.derived("less", "scale --size 0.999999999999")?,
            // The size of each coflow does not change.
            self.derived("random", "skew --sigma 1e-12 --seed 1")?,
        ];
        let mut table = Table::new(
            1,
            [
                "policy",
                "mean CCT, s",
                "sizes × (1 + 1e-12)",
                "× (1 − 1e-12)",
                "each flow at random",
                &format!("largest change, ≤ {MOST_MEAN:e}"),
            ],
        );
        let mut are_met = true;
        for Policy { name, .. } in Policy::all(&self.covey)? {
            progress(&name);
            let mean_s = self.covey.mean_cct_s(self.trace, &name, &[])?;
            let of_trace = |trace: &String| self.covey.mean_cct_s(trace, &name, &[]);
            let changes = changed.iter().map(|it| Ok(of_trace(it)? / mean_s - 1.0));
            let changes = changes.collect::<Result<Vec<f64>>>()?;
            let largest = changes.iter().copied().map(f64::abs).fold(0.0, f64::max);
            let mut cells = vec![code(&name), format!("{mean_s:.4}")];
            cells.extend(changes.iter().map(|change| format!("{change:+.1e}")));
            cells.push(within(largest, MOST_MEAN));
            table.row(cells);
            are_met &= largest <= MOST_MEAN;
        }
        Ok((table, are_met))
    }

    /// The second table, and whether all its limits are met.
    fn copies(&self) -> Result<(Table, bool)> {
        let copies = self.derived("copies", &format!("replicate {COPIES}"))?;
        let mut table = Table::new(
            1,
            [
                "policy",
                "mean CCT, s",
                "mean of six copies, s",
                "CCTs that differ",
                &format!("largest difference, ≤ {MOST_CCT:e}"),
            ],
        );
        let mut are_met = true;
        for spec in ON_COPIES {
            progress(&format!("{spec} on copies"));
            let alone: HashMap<String, f64> = self.ccts_s(self.trace, spec)?.into_iter().collect();
            let of_copies = self.ccts_s(&copies, spec)?;
            if of_copies.len() != COPIES * alone.len() {
                return Err(format!("{} coflows in the copies", of_copies.len()).into());
            }
            let difference = |(id, cct_s): &(String, f64)| {
                // The number of the copy is at the end of the id.
                let original = id.rsplit_once('.').and_then(|(id, _)| alone.get(id));
                let original_s = original.ok_or_else(|| format!("coflow {id} has no original"))?;
                Ok((cct_s / original_s - 1.0).abs())
            };
            let differences = of_copies.iter().map(difference).collect::<Result<Vec<f64>>>()?;
            let largest = differences.iter().copied().fold(0.0, f64::max);
            let differ = differences.iter().filter(|it| **it > MOST_CCT).count();
            let mean_s = alone.values().sum::<f64>() / alone.len() as f64;
            let of_copies_s = of_copies.iter().map(|(_, cct_s)| cct_s).sum::<f64>();
            table.row([
                code(spec),
                format!("{mean_s:.4}"),
                format!("{:.4}", of_copies_s / of_copies.len() as f64),
                format!("{differ} of {}", of_copies.len()),
                within(largest, MOST_CCT),
            ]);
            are_met &= largest <= MOST_CCT;
        }
        Ok((table, are_met))
    }

    /// The id and CCT of each coflow.
    fn ccts_s(&self, trace: &str, policy: &str) -> Result<Vec<(String, f64)>> {
        let file = self.scratch.path("ccts.csv")?;
        self.covey.simulate(trace, policy, &["--per-coflow", &file])?;
        ids_and_ccts_s(&fs::read_to_string(&file)?)
    }
}

/// Reads the columns `coflow_id` and `cct_s` of a table with commas. Ids have none here.
fn ids_and_ccts_s(csv: &str) -> Result<Vec<(String, f64)>> {
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = |name: &str| {
        let place = columns.iter().position(|column| *column == name);
        place.ok_or_else(|| format!("--per-coflow has no column {name}"))
    };
    let (id, cct_s) = (place("coflow_id")?, place("cct_s")?);
    let read = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        Ok((cells[id].to_owned(), cells[cct_s].parse()?))
    };
    lines.map(read).collect()
}

/// The cell of a change that should not be larger than `most`.
fn within(change: f64, most: f64) -> String {
    format!("{change:.1e}{}", if change <= most { "" } else { " **not met**" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ccts_are_read_by_the_names_of_columns() -> Result {
        let csv = "coflow_id,arrival_s,cct_s,width\n7.2,0,1.5,3\n8.1,0,2e-3,1\n";
        assert_eq!(ids_and_ccts_s(csv)?, [("7.2".to_owned(), 1.5), ("8.1".to_owned(), 0.002)]);
        let error = ids_and_ccts_s("coflow_id,width\n").expect_err("no CCT").to_string();
        assert_eq!(error, "--per-coflow has no column cct_s");
        Ok(())
    }

    #[test]
    fn a_change_above_the_limit_is_marked() {
        assert_eq!(within(2.04e-12, MOST_CCT), "2.0e-12");
        assert_eq!(within(2e-3, MOST_MEAN), "2.0e-3 **not met**");
    }
}
