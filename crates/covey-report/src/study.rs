//! Several policies on several generated traces, and how sure their differences are.

use std::fmt;

use serde::Serialize;

use crate::intervals::{Interval, LEVEL, Ranked, rank, ranking};
use crate::units::{decimals, fixed};

/// A study: the same policies on traces of several seeds. `Serialize` gives the object of `compare --seeds --json`,
/// `Display` the text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Name of the traces, without seeds.
    pub trace: String,
    /// The seeds of the traces.
    pub seeds: Vec<u64>,
    /// The policy that the others are measured against, as the user typed it.
    pub baseline: String,
    /// The policies in the order given.
    pub results: Vec<StudyResult>,
    /// The policies from the fastest to the slowest.
    pub ranking: Vec<Ranked>,
}

/// A policy in a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyResult {
    /// The policy as the user typed it.
    pub label: String,
    /// Its mean CCT in seconds on the trace of each seed.
    pub mean_cct_s: Vec<f64>,
    /// The speed-up of the mean CCT over the baseline; `None` for the baseline, and for too few seeds.
    pub speedup: Option<Interval>,
}

impl Study {
    /// A study of policies, each with its mean CCT on the trace of each seed. `baseline` is one of their places.
    pub fn new(
        trace: &str,
        seeds: Vec<u64>,
        policies: Vec<(String, Vec<f64>)>,
        baseline: usize,
    ) -> Study {
        let labels: Vec<&str> = policies.iter().map(|(label, _)| label.as_str()).collect();
        let samples: Vec<Vec<f64>> = policies.iter().map(|(_, means)| means.clone()).collect();
        let ranking = rank(&labels, &samples);
        let base = samples[baseline].clone();
        let results = policies.iter().cloned().enumerate().map(|(place, (label, mean_cct_s))| {
            let speedup = (place != baseline).then(|| Interval::of(&base, &mean_cct_s)).flatten();
            StudyResult { label, mean_cct_s, speedup }
        });
        Study {
            trace: trace.to_owned(),
            seeds,
            baseline: policies[baseline].0.clone(),
            results: results.collect(),
            ranking,
        }
    }
}

impl fmt::Display for Study {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = |result: &StudyResult| {
            result.mean_cct_s.iter().sum::<f64>() / result.mean_cct_s.len() as f64
        };
        let digits = decimals(self.results.iter().map(mean));
        let percent = 100.0 * LEVEL;
        let mut rows = vec![[
            "policy".to_owned(),
            "mean CCT, s".to_owned(),
            "speed-up".to_owned(),
            format!("{percent:.0} % interval"),
        ]];
        rows.extend(self.results.iter().map(|result| {
            let (speedup, interval) = match &result.speedup {
                _ if result.label == self.baseline => ("1.00".to_owned(), String::new()),
                Some(it) => (fixed(it.speedup, 2), format!("{:.2} to {:.2}", it.low, it.high)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            [result.label.clone(), fixed(mean(result), digits), speedup, interval]
        }));
        let width =
            |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        for [label, mean, speedup, interval] in &rows {
            writeln!(
                out,
                "{label:0$}  {mean:>1$}  {speedup:>2$}  {interval:>3$}",
                widths[0], widths[1], widths[2], widths[3]
            )?;
        }
        let (first, last) = (self.seeds.first().unwrap_or(&0), self.seeds.last().unwrap_or(&0));
        writeln!(
            out,
            "\nSeeds {first} to {last} of {}. Speed-ups over {} are of the mean CCT over all seeds; their intervals are \
             bootstrapped over seeds, in pairs.",
            self.trace, self.baseline
        )?;
        writeln!(
            out,
            "From the fastest: {} (< certain at {percent:.0} %, ~ not).",
            ranking(&self.ranking)
        )
    }
}
