//! Sections II and VI-B on Spark: applications like HiBench's, with and without the plug-in.

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::{maximum, mean};
use crate::plan::Results;
use crate::spark::{Mode, SparkRun, SparkRuns};

/// The items that are measured on Spark, in the order of the paper.
pub const SPARK_ITEMS: &[Item] = &[TABLE_I, TABLE_VII, TABLE_VIII, FIGURE_7A, FIGURE_7B];

/// How near ours must be to what was measured on another cluster, on other data.
const WITHIN: f64 = 0.1;

const OTHER_DATA: &str = "HiBench's data are not those of the paper's authors, who give neither sizes nor seeds; ours \
    are made by rules of the same kind. The paper compresses with LZF and LZ4, ours chooses for each stage.";

/// What was measured.
fn runs<'a>(results: &'a Results<'_>) -> Result<&'a SparkRuns, String> {
    results.plan.spark().ok_or_else(|| "nothing was measured on Spark".to_owned())
}

/// A number that was measured on Spark.
fn found(what: impl Into<String>, ours: f64) -> Finding {
    Finding::new(what, Setting::Spark, &[], ours)
}

const TABLE_I: Item = Item {
    place: "Table I",
    section: "II",
    shows: "shuffles, compressed over uncompressed bytes (Spark)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            let runs = runs(results)?;
            for name in runs.applications() {
                let written = |mode| runs.mean(name, mode, |run| run.written_bytes);
                let ratio = |mode| 100.0 * written(mode) / written(Mode::None);
                let published = results.published("Table I", name, "ratio");
                section.add(
                    found(name, ratio(Mode::Swallow))
                        .unit("%")
                        .published(published, WITHIN)
                        .why(OTHER_DATA),
                );
                section.add(found(format!("{name}, Spark's default"), ratio(Mode::Lz4)).unit("%"));
            }
            Ok(())
        }))
    }),
};

/// Bytes between hosts.
const REMOTE: fn(&SparkRun) -> f64 = |run| run.remote_bytes;

/// How many percent less `value` is with Swallow than in another mode, over all applications.
fn saved(runs: &SparkRuns, mode: Mode, value: fn(&SparkRun) -> f64) -> f64 {
    100.0 * (1.0 - runs.sum(Mode::Swallow, value) / runs.sum(mode, value))
}

const TABLE_VII: Item = Item {
    place: "Table VII",
    section: "VI-B2",
    shows: "traffic with and without Swallow (Spark)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            let runs = runs(results)?;
            section.note("Bytes are those of shuffles between hosts, as Spark counts them, over all applications.");
            let modes =
                [("without", Mode::None), ("Spark's default", Mode::Lz4), ("with", Mode::Swallow)];
            for (name, mode) in modes {
                section.add(found(name, runs.sum(mode, REMOTE) / 1e6).unit("MB"));
            }
            section.add(
                found("reduction", saved(runs, Mode::None, REMOTE))
                    .unit("%")
                    .published(results.published("Table VII", "mean", "reduction"), WITHIN)
                    .why(OTHER_DATA),
            );
            let over_default = saved(runs, Mode::Lz4, REMOTE);
            section.add(found("reduction over Spark's default", over_default).unit("%"));
            Ok(())
        }))
    }),
};

const TABLE_VIII: Item = Item {
    place: "Table VIII",
    section: "VI-B2",
    shows: "time of garbage collection (Spark)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            let runs = runs(results)?;
            section.note(
                "Times are of single tasks: quartiles and the maximum, each the mean over applications. The paper's \
                 tasks had a hundred times as much to do, so only its claim is compared.",
            );
            type Times = fn(&SparkRun) -> [f64; 4];
            let kinds: [(&str, Times); 2] =
                [("map", |run| run.gc_map_s), ("reduce", |run| run.gc_result_s)];
            for (kind, times) in kinds {
                let mut longest = Vec::new();
                for (name, mode) in [("with", Mode::Swallow), ("without", Mode::None)] {
                    let all: Vec<[f64; 4]> = runs.in_mode(mode).map(times).collect();
                    for (k, quantile) in ["25%", "50%", "75%", "100%"].iter().enumerate() {
                        let time = mean(&all.iter().map(|times| times[k]).collect::<Vec<_>>());
                        section.add(found(format!("{kind}, {name}, {quantile}"), time).unit("s"));
                        longest.push(time);
                    }
                }
                section.add(
                    found(format!("{kind}, longest without over with"), longest[7] / longest[3])
                        .says("collection takes less time with compression", Rule::AtLeast(1.0))
                        .why("Collections of a heap of a gigabyte take milliseconds here, and vary as much."),
                );
            }
            Ok(())
        }))
    }),
};

const FIGURE_7A: Item = Item {
    place: "Figure 7(a)",
    section: "VI-B1",
    shows: "speed-up of stages and jobs (Spark)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            let runs = runs(results)?;
            section.note(
                "A gain is the time without over that with Swallow, each the mean over the runs of an application. \
                 Stages that write a shuffle are its \"shuffling stage\", all others its \"result stage\". Last is the \
                 time with the best of no codec, LZ4 and Zstandard over that with Swallow, which has to choose.",
            );
            let published = |row| results.published("Figure 7(a)", row, "at most");
            type Time = fn(&SparkRun) -> f64;
            let parts: [(&str, &str, Time); 3] = [
                ("shuffling stages, most", "shuffle", |run| run.map_s),
                ("result stages, most", "result", |run| run.result_s),
                ("jobs, mean", "JCT", |run| run.job_s),
            ];
            for (what, row, time) in parts {
                let over = |mode| -> Vec<f64> {
                    let gain =
                        |name| runs.mean(name, mode, time) / runs.mean(name, Mode::Swallow, time);
                    runs.applications()
                        .into_iter()
                        .map(gain)
                        .filter(|gain| gain.is_finite())
                        .collect()
                };
                let ours = |gains: &[f64]| if row == "JCT" { mean(gains) } else { maximum(gains) };
                section.add(
                    found(what, ours(&over(Mode::None)))
                        .published(published(row), WITHIN)
                        .why(OTHER_NETWORK),
                );
                section.add(found(format!("{what}, over Spark's default"), ours(&over(Mode::Lz4))));
            }
            for name in runs.applications() {
                let job_s = |mode| runs.mean(name, mode, |run| run.job_s);
                let over = |time_s: f64| time_s / job_s(Mode::Swallow);
                let codecs = [Mode::None, Mode::Lz4, Mode::Zstd].map(job_s);
                let best_s = codecs.into_iter().fold(f64::MAX, f64::min);
                section.add(found(format!("{name}, job"), over(job_s(Mode::None))));
                section.add(found(format!("{name}, best codec"), over(best_s)));
            }
            Ok(())
        }))
    }),
};

const OTHER_NETWORK: &str = "A gain depends on how fast links are beside processors and disks. The paper's hosts had \
    gigabit links, four cores and data hundreds of times as large.";

const FIGURE_7B: Item = Item {
    place: "Figure 7(b)",
    section: "VI-B1",
    shows: "traffic saved by each application (Spark)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            let runs = runs(results)?;
            section.note("The text we have lacks the figure's bars.");
            for name in runs.applications() {
                let remote = |mode| runs.mean(name, mode, REMOTE);
                let saved = 100.0 * (1.0 - remote(Mode::Swallow) / remote(Mode::None));
                section.add(
                    found(name, saved)
                        .unit("%")
                        .says("traffic is reduced", Rule::MoreThan(0.0))
                        .why("The plug-in compresses nothing where processors are slower than links."),
                );
            }
            Ok(())
        }))
    }),
};
