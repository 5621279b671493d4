//! Tables II and III: speeds and ratios of compressors.
//!
//! The paper measured compressors; here their speed R and ratio ξ are parameters. These items check
//! that the simulator applies them: a single flow of V bytes on ports of bandwidth B takes V / R +
//! ξ V / B, from which R and ξ are calculated.

use covey_trace::{Coflow, Flow, Workload};

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planner, Planning};
use crate::plan::{RunId, TraceId};

/// Speed of the ports in bytes per second.
const BANDWIDTH: f64 = 125e6;

/// The workload of a single flow.
fn single_flow(planner: &mut Planner, bytes: f64) -> TraceId {
    let flow = Flow { src: 0, dst: 1, bytes, start_s: 0.0 };
    let coflows = vec![Coflow::new("1".to_owned(), 0.0, vec![flow])];
    planner.plan.defined_by_paper(&format!("one flow of {bytes} bytes"), Workload::new(2, coflows))
}

/// The rows of Table II, and Covey's names of the codecs.
const CODECS: [(&str, &str); 5] =
    [("LZ4", "lz4"), ("LZO", "lzo"), ("Snappy", "snappy"), ("LZF", "lzf"), ("Zstandard", "zstd")];

pub(super) const TABLE_II: Item = Item {
    place: "Table II",
    section: "IV",
    shows: "speed and ratio of five compressors",
    plan: Planning::Runs(|planner| {
        const BYTES: f64 = 1e9;
        let trace = single_flow(planner, BYTES);
        let runs = CODECS
            .map(|(row, codec)| (row, planner.plan.exact(trace, &format!("fvdf:codec={codec}"))));
        Ok(Box::new(move |results, section| {
            section.note(
                "FVDF compresses one flow of 1 GB and then sends it at 1 Gbps. Speed and ratio are calculated \
                 from the CCT and the bytes sent. Decompression is several times faster and is not modelled.",
            );
            for (row, run) in runs {
                let measured = results.get(run)?;
                let ratio = 1.0 - measured.saved_bytes / BYTES;
                let compressing_s = results.mean(run)? - ratio * BYTES / BANDWIDTH;
                let both = [
                    ("compression", "MB/s", BYTES / compressing_s / 1e6),
                    ("ratio", "%", 100.0 * ratio),
                ];
                for (column, unit, ours) in both {
                    let published = results.published("Table II", row, column);
                    section.add(
                        Finding::new(
                            format!("{row}, {column}"),
                            Setting::FairComparison,
                            &[run],
                            ours,
                        )
                        .unit(unit)
                        .published(published, 1e-6)
                        .check(),
                    );
                }
            }
            Ok(())
        }))
    }),
};

/// Table II on a testbed: what agents measure of the codecs that they have.
pub(super) const TABLE_II_HERE: Item = Item {
    place: "Table II",
    section: "IV",
    shows: "speed and ratio of the agents' own compressors",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            section.note(
                "An agent measures its codecs when it starts: 256 KiB of made-up records in chunks of 64 KiB, checksum \
                 included, in processor time of one thread. There is no library for LZO.",
            );
            for (row, codec) in CODECS {
                let Some(found) = results.plan.codec(codec) else { continue };
                let both = [
                    ("compression", "MB/s", found.speed / 1e6),
                    ("ratio", "%", 100.0 * found.ratio),
                ];
                for (column, unit, ours) in both {
                    let published = results.published("Table II", row, column);
                    let what = format!("{row}, {column}");
                    section.add(
                        Finding::new(what, Setting::Testbed, &[], ours)
                            .unit(unit)
                            .published(published, 0.1)
                            .why(WHY_HERE),
                    );
                }
            }
            match section.findings.is_empty() {
                true => Err("no codec was measured on this machine".to_owned()),
                false => Ok(()),
            }
        }))
    }),
};

const WHY_HERE: &str = "Another processor, other libraries and other data than the paper's, which it does not describe.";

/// The rows of Table III, with the uncompressed sizes in bytes.
const SORTS: [(&str, f64); 8] = [
    ("10 KB", 13.09e3),
    ("50 KB", 54.26e3),
    ("100 KB", 102.75e3),
    ("1 MB", 1.01e6),
    ("10 MB", 10.06e6),
    ("100 MB", 100.59e6),
    ("1 GB", 1.01e9),
    ("10 GB", 10.01e9),
];

pub(super) const TABLE_III: Item = Item {
    place: "Table III",
    section: "IV",
    shows: "compressed sizes of sorts",
    plan: Planning::Runs(|planner| {
        let runs: Vec<(&str, f64, RunId)> = SORTS
            .into_iter()
            .map(|(row, bytes)| {
                let trace = single_flow(planner, bytes);
                (row, bytes, planner.plan.exact(trace, "fvdf:ratio=size"))
            })
            .collect();
        Ok(Box::new(move |results, section| {
            section.note(
                "One flow of each uncompressed size runs under fvdf:ratio=size, which takes its ratio from this \
                 table. Printed sizes have three digits, so sizes and ratios agree to three digits only.",
            );
            for (row, bytes, run) in runs {
                let left = bytes - results.get(run)?.saved_bytes;
                let both = [("compressed", "KB", left / 1e3), ("ratio", "%", 100.0 * left / bytes)];
                for (column, unit, ours) in both {
                    let published = results.published("Table III", row, column);
                    section.add(
                        Finding::new(
                            format!("{row}, {column}"),
                            Setting::FairComparison,
                            &[run],
                            ours,
                        )
                        .unit(unit)
                        .published(published, 0.005)
                        .check(),
                    );
                }
            }
            Ok(())
        }))
    }),
};
