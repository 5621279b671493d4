//! Section VI-B, the deployment: traffic and times of shuffles with and without Swallow, with real flows
//! between emulated hosts.
//!
//! The paper ran HiBench, whose applications come one after the other, and does not tell which. Here each of
//! Table I's is replayed alone, on data that are as compressible as its were.

use covey_trace::{Coflow, Flow, Workload};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planner, Planning};
use crate::jobs::{SEEDS, speedups};
use crate::learning::Recording;
use crate::numbers::{maximum, mean};
use crate::plan::{Platform, Results, Run, RunId, TCP, TestbedRun};
use crate::plots::cdf;

/// What can be measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[TABLE_I, TABLE_VII, FIGURE_7A, FIGURE_7B];

/// Scales of Table VII that sixteen hosts send in minutes; the third would take them hours.
const SCALES: [&str; 2] = ["large", "huge"];
/// The scale of which there are most bytes.
const LARGEST: &str = "huge";
/// By how much less is sent than Table VII says.
const SMALLER: f64 = 2.0;
/// Hosts that send, and as many that receive: where all do both, one machine of few processors that plays
/// them all compresses too slowly.
const SENDERS: u32 = 8;
/// Sizes of an application's shuffles, as parts of all it sends.
const PARTS: [f64; 3] = [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0];

/// An application at a scale: the same shuffles under three who schedule.
struct Application {
    name: String,
    /// Bytes of its flows.
    bytes: f64,
    /// Nobody: what the paper's "without Swallow" is.
    tcp: RunId,
    sebf: RunId,
    fvdf: RunId,
}

/// Every application of Table I, or only some, which send alike what Table VII says of a scale.
fn applications(planner: &mut Planner, scale: &str) -> Vec<Application> {
    let table = planner.paper.at("Table I").next();
    let rows = table.map_or(&[][..], |table| &table.rows);
    let all =
        planner.paper.value("Table VII", scale, "without").unwrap_or_default() * 1e6 / SMALLER;
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let bytes = all / names.len() as f64;
    let some = names.into_iter().step_by(planner.every);
    let application = |name: String| {
        let ratio = planner.paper.value("Table I", &name, "ratio")? / 100.0;
        let trace = planner.plan.defined_by_paper(&format!("{name}, {scale}"), shuffles(bytes));
        let mut run = |policy: &str| {
            let (platform, policy) =
                (Platform::Testbed(TestbedRun { fold: None, ratio }), policy.to_owned());
            planner.plan.run(Run { trace, platform, policy, recording: Recording::CctsOnly })
        };
        let [tcp, sebf, fvdf] = [TCP, "sebf", "fvdf"].map(&mut run);
        Some(Application { name, bytes: planner.plan.workload(trace).bytes(), tcp, sebf, fvdf })
    };
    some.filter_map(application).collect()
}

/// Three shuffles that come together, of about `bytes` bytes.
fn shuffles(bytes: f64) -> Workload {
    let pairs = (0..SENDERS).flat_map(|src| (SENDERS..2 * SENDERS).map(move |dst| (src, dst)));
    let coflow = |(k, part): (usize, f64)| {
        let bytes = (bytes * part / f64::from(SENDERS * SENDERS)).round();
        let flows = pairs.clone().map(|(src, dst)| Flow { src, dst, bytes, start_s: 0.0 });
        Coflow::new((k + 1).to_string(), 0.0, flows.collect())
    };
    let coflows = PARTS.into_iter().enumerate().map(coflow).collect();
    Workload { ports: 2 * SENDERS, coflows }
}

/// Bytes on the links under one who schedules, of all applications together.
fn on_links<'a>(
    applications: impl IntoIterator<Item = &'a Application>,
    run: fn(&Application) -> RunId,
    results: &Results<'_>,
) -> Result<f64, String> {
    let of = |application| {
        let found = results.get(run(application))?;
        found.wire_bytes.ok_or_else(|| "bytes on the links were not counted".to_owned())
    };
    applications.into_iter().map(of).sum()
}

/// By how many percent less is on the links with Swallow.
fn reduction(applications: &[Application], results: &Results<'_>) -> Result<f64, String> {
    let without = on_links(applications, |it| it.tcp, results)?;
    let with = on_links(applications, |it| it.fvdf, results)?;
    Ok(100.0 * (1.0 - with / without))
}

/// Tells what all items are of, in the first that is planned.
fn introduction(planner: &Planner) -> Option<String> {
    (planner.plan.runs().len() == 0).then(|| format!(
        "The paper had 100 virtual machines that ran HiBench. Here each application of Table I is replayed \
         alone between sixteen emulated hosts of 100 Mbit/s: three shuffles that come together, of 1, 2 and 3 \
         sixths of its bytes, from {SENDERS} hosts to {SENDERS} others. All send alike what Table VII says of \
         a scale, divided by {SMALLER}; their data are made so that LZ4 shrinks them as Table I says. Without \
         Swallow is TCP alone; with Swallow is fvdf, under coordinator and agents."
    ))
}

const TABLE_I: Item = Item {
    place: "Table I",
    section: "II",
    shows: "bytes that are left of eleven applications' when they are compressed (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let applications = applications(planner, LARGEST);
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(format!(
                "Ours is what crossed the links under fvdf, of the bytes that applications sent, scale \
                 {LARGEST}. The data were made for it, so that does not tell what HiBench's are like. It tells \
                 that Swallow compresses all flows, and that headers, checksums, acknowledgements and \
                 what is said to the coordinator add little."
            ));
            for application in &applications {
                let sent = on_links([application], |it| it.fvdf, results)?;
                let published = results.published("Table I", &application.name, "ratio");
                let ours = 100.0 * sent / application.bytes;
                section.add(
                    Finding::new(&application.name, Setting::Testbed, &[application.fvdf], ours)
                        .unit("%")
                        .published(published, 0.06)
                        .why(
                            "What is more is headers, acknowledgements and what is said to the coordinator. Packets \
                             that were lost are sent again, and counted again.",
                        ),
                );
            }
            Ok(())
        }))
    }),
};

const TABLE_VII: Item = Item {
    place: "Table VII",
    section: "VI-B2",
    shows: "traffic with and without Swallow (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let scales = SCALES.map(|scale| (scale, applications(planner, scale)));
        let all = planner.every == 1;
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(
                "Bytes are those on the links, headers included. The third scale, gigantic, has 2.65 TB; half \
                 of it would take four hours without Swallow.",
            );
            if !all {
                section.note("Some applications are left out, so nothing published is compared.");
            }
            let published = |row| {
                let value = results.published("Table VII", row, "reduction");
                value.filter(|_| all)
            };
            let (mut reductions, mut all_runs) = (Vec::new(), Vec::new());
            for (scale, applications) in &scales {
                let first = all_runs.len();
                type Which = fn(&Application) -> RunId;
                let sent: [(&str, Which); 2] =
                    [("without Swallow", |it| it.tcp), ("with Swallow", |it| it.fvdf)];
                for (name, run) in sent {
                    let runs: Vec<RunId> = applications.iter().map(run).collect();
                    let ours = on_links(applications, run, results)? / 1e6;
                    let what = format!("{scale}, {name}");
                    section.add(Finding::new(what, Setting::Testbed, &runs, ours).unit("MB"));
                    all_runs.extend(runs);
                }
                let ours = reduction(applications, results)?;
                reductions.push(ours);
                let what = format!("{scale}, reduction");
                section.add(saved(what, &all_runs[first..], ours, published(scale)));
            }
            let ours = mean(&reductions);
            let what = "mean of the reductions".to_owned();
            section.add(saved(what, &all_runs, ours, published("mean")));
            Ok(())
        }))
    }),
};

fn saved(what: String, runs: &[RunId], ours: f64, published: Option<f64>) -> Finding {
    Finding::new(what, Setting::Testbed, runs, ours).unit("%").published(published, 0.1).why(
        "Which applications the paper's traffic is of, and how much of each, it does not tell. Here each of \
         Table I's sends as much as any other, and 44.1 % is left of that; by the bytes in Table I it would \
         be 27.7 %, while Table VII has 51.6 %. So its traffic is either of those that shrink less, or \
         holds what Swallow does not compress, such as what is read and written over HDFS.",
    )
}

const FIGURE_7A: Item = Item {
    place: "Figure 7(a)",
    section: "VI-B1",
    shows: "how much sooner shuffles and jobs are done with Swallow (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let scales = SCALES.map(|scale| (scale, applications(planner, scale)));
        let all = planner.every == 1;
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(format!(
                "A gain is the mean CCT of an application's shuffles under another over that under fvdf. SEBF \
                 orders shuffles as fvdf does, but compresses nothing. For JCT each shuffle is that of a \
                 job which spends the share φ of its time there under SEBF, JCT = CCT₀/φ − CCT₀ + CCT; shares are \
                 those of Philae's section 9.2, for Swallow tells none; the mean speed-up over {SEEDS} \
                 seeds. The result stage, which writes to HDFS (published: 2.12×), is not here."
            ));
            let published = |row| results.published("Figure 7(a)", row, "at most").filter(|_| all);
            for (scale, applications) in &scales {
                let gains = |base: fn(&Application) -> RunId| -> Result<Vec<f64>, String> {
                    applications.iter().map(|it| results.gain(base(it), it.fvdf)).collect()
                };
                let (over_tcp, over_sebf) = (gains(|it| it.tcp)?, gains(|it| it.sebf)?);
                let all_runs = |base: fn(&Application) -> RunId| -> Vec<RunId> {
                    applications.iter().flat_map(|it| [base(it), it.fvdf]).collect()
                };
                let (tcp_runs, sebf_runs) = (all_runs(|it| it.tcp), all_runs(|it| it.sebf));
                let add = |what: &str, runs: &[RunId], ours| {
                    Finding::new(format!("{scale}, {what}"), Setting::Testbed, runs, ours)
                };
                section.add(
                    add("shuffles, over TCP, most", &tcp_runs, maximum(&over_tcp))
                        .published(published("shuffle"), 0.1)
                        .why(ONLY_SHUFFLES),
                );
                section.add(add("shuffles, over TCP, mean", &tcp_runs, mean(&over_tcp)));
                section.add(add("shuffles, over SEBF, most", &sebf_runs, maximum(&over_sebf)));
                section.add(add("shuffles, over SEBF, mean", &sebf_runs, mean(&over_sebf)));
                let jobs = jobs(applications, results)?;
                section.add(
                    add("jobs, over SEBF, mean", &sebf_runs, jobs)
                        .published(published("JCT"), 0.1)
                        .why(OTHER_SHARES),
                );
                if *scale == LARGEST {
                    for (it, gain) in applications.iter().zip(&over_sebf) {
                        section.add(Finding::new(
                            format!("{}, over SEBF", it.name),
                            Setting::Testbed,
                            &[it.sebf, it.fvdf],
                            *gain,
                        ));
                    }
                }
                section.figures.push(cdf(
                    &format!("Gain in the mean CCT of an application, {scale}"),
                    ["gain", "applications"],
                    Some(1.0),
                    vec![("over TCP".to_owned(), over_tcp), ("over SEBF".to_owned(), over_sebf)],
                    "Mean CCTs of an application's shuffles without Swallow over those with it.",
                ));
            }
            Ok(())
        }))
    }),
};

/// The mean speed-up of jobs of which each shuffle is one's.
fn jobs(applications: &[Application], results: &Results<'_>) -> Result<f64, String> {
    let (mut base, mut ccts) = (Vec::new(), Vec::new());
    for application in applications {
        base.extend(&results.get(application.sebf)?.ccts_s);
        ccts.extend(&results.get(application.fvdf)?.ccts_s);
    }
    let means: Vec<f64> = (1..=SEEDS).map(|seed| mean(&speedups(&base, &ccts, seed))).collect();
    Ok(mean(&means))
}

const ONLY_SHUFFLES: &str = "A shuffle stage of Spark also reads, sorts and writes, on links of a gigabit. \
    Here shuffles only send, at 100 Mbit/s, and three of them at a time; so the gain is that of the order times \
    that of compressing, 1/ξ, which is 5.3 for the application that shrinks most.";

const OTHER_SHARES: &str = "The shares are those of Facebook's jobs, most of which hardly shuffle. Jobs that are 1.66 \
    times faster by a shuffle that is 1.90 times faster spend 84 % of their time there.";

const FIGURE_7B: Item = Item {
    place: "Figure 7(b)",
    section: "VI-B1",
    shows: "traffic that is saved, by scale (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let scales = SCALES.map(|scale| (scale, applications(planner, scale)));
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(
                "The figure's bars are lost in the text we have; Table VII is of the same scales.",
            );
            for (scale, applications) in &scales {
                let one = |it: &Application| reduction(std::slice::from_ref(it), results);
                let reductions = applications.iter().map(|it| Ok((it, one(it)?)));
                let mut reductions = reductions.collect::<Result<Vec<_>, String>>()?;
                reductions.sort_by(|a, b| a.1.total_cmp(&b.1));
                let ends = reductions.first().zip(reductions.last());
                let Some((least, greatest)) = ends else { continue };
                let add = |what, (it, ours): &(&Application, f64)| {
                    let what = format!("{scale}, {what} ({})", it.name);
                    Finding::new(what, Setting::Testbed, &[it.tcp, it.fvdf], *ours).unit("%")
                };
                section.add(
                    add("least", least)
                        .says("traffic is reduced at each scale", Rule::MoreThan(0.0)),
                );
                section.add(add("most", greatest));
            }
            Ok(())
        }))
    }),
};
