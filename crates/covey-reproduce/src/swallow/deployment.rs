//! Section VI-B, the deployment: traffic and times of shuffles with and without Swallow, with real
//! flows between emulated hosts.
//!
//! The paper ran HiBench applications one after another and does not say which. Here each
//! application of Table I is replayed alone, on data with the compression ratio of Table I.

use covey_trace::{Coflow, Flow, Workload};

use super::codecs::TABLE_II_HERE;
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planner, Planning};
use crate::jobs::{SEEDS, speedups};
use crate::numbers::{maximum, mean};
use crate::plan::{Platform, Results, RunId, TCP, TestbedNetwork, TestbedRun};
use crate::plots::cdf;

/// The items that are measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[TABLE_I, TABLE_II_HERE, TABLE_VII, FIGURE_7A, FIGURE_7B];

/// Scales of Table VII that sixteen hosts send in minutes. The third scale would take hours.
const SCALES: [&str; 2] = ["large", "huge"];
/// The scale with the most bytes.
const LARGEST: &str = "huge";
/// Bytes of Table VII over bytes that are sent here.
const SCALE_DOWN: f64 = 2.0;
/// Number of hosts that send; as many others receive. If all sixteen hosts did both, the one
/// machine that emulates them would compress too slowly.
const SENDERS: u32 = 8;
/// Sizes of an application's three shuffles, as shares of all its bytes.
const PARTS: [f64; 3] = [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0];

/// An application at a scale: runs of the same shuffles under three policies.
struct Application {
    name: String,
    /// Bytes of all its flows.
    bytes: f64,
    /// TCP without a scheduler: the paper's "without Swallow".
    tcp: RunId,
    sebf: RunId,
    /// The paper's "with Swallow".
    fvdf: RunId,
}

/// Plans every `every`-th application of Table I at a scale. All applications send equally many
/// bytes, together those of Table VII divided by [`SCALE_DOWN`].
fn applications(planner: &mut Planner, scale: &str) -> Vec<Application> {
    let table = planner.paper.at("Table I").next();
    let rows = table.map_or(&[][..], |table| &table.rows);
    let all =
        planner.paper.value("Table VII", scale, "without").unwrap_or_default() * 1e6 / SCALE_DOWN;
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let bytes = all / names.len() as f64;
    let selected = names.into_iter().step_by(planner.every);
    let application = |name: String| {
        let ratio = planner.paper.value("Table I", &name, "ratio")? / 100.0;
        let trace = planner.plan.defined_by_paper(&format!("{name}, {scale}"), shuffles(bytes));
        let platform =
            Platform::Testbed(TestbedRun { fold: None, ratio, network: TestbedNetwork::default() });
        let [tcp, sebf, fvdf] = [TCP, "sebf", "fvdf"]
            .map(|policy| planner.plan.run_on(platform.clone(), trace, policy));
        Some(Application { name, bytes: planner.plan.workload(trace).bytes(), tcp, sebf, fvdf })
    };
    selected.filter_map(application).collect()
}

/// Three shuffles that arrive together, of about `bytes` bytes in all.
fn shuffles(bytes: f64) -> Workload {
    let pairs = (0..SENDERS).flat_map(|src| (SENDERS..2 * SENDERS).map(move |dst| (src, dst)));
    let coflow = |(k, part): (usize, f64)| {
        let bytes = (bytes * part / f64::from(SENDERS * SENDERS)).round();
        let flows = pairs.clone().map(|(src, dst)| Flow { src, dst, bytes, start_s: 0.0 });
        Coflow::new((k + 1).to_string(), 0.0, flows.collect())
    };
    let coflows = PARTS.into_iter().enumerate().map(coflow).collect();
    Workload::new(2 * SENDERS, coflows)
}

/// Bytes on the links in one run of each application, summed over all applications.
fn on_links<'a>(
    applications: impl IntoIterator<Item = &'a Application>,
    run: fn(&Application) -> RunId,
    results: &Results<'_>,
) -> Result<f64, String> {
    let bytes = |application| {
        let result = results.get(run(application))?;
        result.wire_bytes.ok_or_else(|| "bytes on the links were not counted".to_owned())
    };
    applications.into_iter().map(bytes).sum()
}

/// The reduction of the bytes on the links by Swallow, in percent.
fn reduction(applications: &[Application], results: &Results<'_>) -> Result<f64, String> {
    let without = on_links(applications, |app| app.tcp, results)?;
    let with = on_links(applications, |app| app.fvdf, results)?;
    Ok(100.0 * (1.0 - with / without))
}

/// Describes the workload of all items; `None` unless this is the first item planned.
fn introduction(planner: &Planner) -> Option<String> {
    (planner.plan.runs().len() == 0).then(|| format!(
        "The paper ran HiBench on 100 virtual machines. Here each application of Table I is replayed alone \
         between sixteen emulated hosts of 100 Mbit/s. It has three shuffles that arrive together, of 1, 2 and \
         3 sixths of its bytes, from {SENDERS} hosts to {SENDERS} others. All applications send equally many \
         bytes, together those of Table VII at the same scale divided by {SCALE_DOWN}. LZ4 compresses their \
         data to the ratios of Table I. \"Without Swallow\" is TCP alone; \"with Swallow\" is fvdf, with \
         coordinator and agents."
    ))
}

const TABLE_I: Item = Item {
    place: "Table I",
    section: "II",
    shows: "compression ratios of the data of eleven applications (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let applications = applications(planner, LARGEST);
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(format!(
                "Ours is the bytes on the links under fvdf over the bytes that the application sent, at scale \
                 {LARGEST}. The data were generated with the published ratios, so this says nothing about \
                 HiBench's data. It shows that Swallow compresses all flows, and that headers, checksums, \
                 acknowledgements and messages to the coordinator add little."
            ));
            for application in &applications {
                let sent = on_links([application], |app| app.fvdf, results)?;
                let published = results.published("Table I", &application.name, "ratio");
                let ours = 100.0 * sent / application.bytes;
                section.add(
                    Finding::new(&application.name, Setting::Testbed, &[application.fvdf], ours)
                        .unit("%")
                        .published(published, 0.06)
                        .check()
                        .why(
                            "The excess is headers, acknowledgements and messages to the coordinator. Packets that \
                             were lost are sent again and counted again.",
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
                "Bytes are those on the links, including headers. The third scale, gigantic, has 2.65 TB; half of \
                 that would take four hours without Swallow.",
            );
            if !all {
                section.note("Some applications are left out, so no published value is compared.");
            }
            let published = |row| {
                let value = results.published("Table VII", row, "reduction");
                value.filter(|_| all)
            };
            let (mut reductions, mut all_runs) = (Vec::new(), Vec::new());
            for (scale, applications) in &scales {
                let first_run = all_runs.len();
                type ChooseRun = fn(&Application) -> RunId;
                let sent: [(&str, ChooseRun); 2] =
                    [("without Swallow", |app| app.tcp), ("with Swallow", |app| app.fvdf)];
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
                section.add(saved(what, &all_runs[first_run..], ours, published(scale)));
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
        "The paper does not say which applications its traffic is from, and how much each sends. Here all \
         applications of Table I send equally much, and 44.1 % of the bytes remain. Weighted by the bytes in \
         Table I, 27.7 % would remain; in Table VII, 51.6 % remain. The paper's traffic is therefore either \
         from less compressible applications, or contains bytes that Swallow does not compress, such as reads \
         and writes over HDFS.",
    )
}

const FIGURE_7A: Item = Item {
    place: "Figure 7(a)",
    section: "VI-B1",
    shows: "speed-up of shuffles and jobs with Swallow (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let scales = SCALES.map(|scale| (scale, applications(planner, scale)));
        let all = planner.every == 1;
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section.note(format!(
                "A gain is the mean CCT of an application's shuffles under another policy divided by that under \
                 fvdf. SEBF orders shuffles as fvdf does, but does not compress. For JCT, each shuffle belongs \
                 to a job that spends the share φ of its time in shuffle under SEBF: JCT = CCT₀/φ − CCT₀ + CCT. \
                 Swallow gives no shares, so those of Philae's section 9.2 are used; the result is the mean \
                 speed-up over {SEEDS} seeds. The result stage, which writes to HDFS (published: 2.12×), is not \
                 reproduced."
            ));
            let published = |row| results.published("Figure 7(a)", row, "at most").filter(|_| all);
            for (scale, applications) in &scales {
                let gains = |base: fn(&Application) -> RunId| -> Result<Vec<f64>, String> {
                    applications.iter().map(|app| results.gain(base(app), app.fvdf)).collect()
                };
                let (over_tcp, over_sebf) = (gains(|app| app.tcp)?, gains(|app| app.sebf)?);
                let all_runs = |base: fn(&Application) -> RunId| -> Vec<RunId> {
                    applications.iter().flat_map(|app| [base(app), app.fvdf]).collect()
                };
                let (tcp_runs, sebf_runs) = (all_runs(|app| app.tcp), all_runs(|app| app.sebf));
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
                    for (app, gain) in applications.iter().zip(&over_sebf) {
                        section.add(Finding::new(
                            format!("{}, over SEBF", app.name),
                            Setting::Testbed,
                            &[app.sebf, app.fvdf],
                            *gain,
                        ));
                    }
                }
                section.figures.push(cdf(
                    &format!("Gain in the mean CCT of an application, {scale}"),
                    ["gain", "applications"],
                    Some(1.0),
                    vec![("over TCP".to_owned(), over_tcp), ("over SEBF".to_owned(), over_sebf)],
                    "Mean CCT of an application's shuffles without Swallow divided by that with it.",
                ));
            }
            Ok(())
        }))
    }),
};

/// The mean speed-up of jobs over SEBF, if each shuffle belongs to one job.
fn jobs(applications: &[Application], results: &Results<'_>) -> Result<f64, String> {
    let (mut base, mut ccts) = (Vec::new(), Vec::new());
    for application in applications {
        base.extend(&results.get(application.sebf)?.ccts_s);
        ccts.extend(&results.get(application.fvdf)?.ccts_s);
    }
    let means: Vec<f64> = (1..=SEEDS).map(|seed| mean(&speedups(&base, &ccts, seed))).collect();
    Ok(mean(&means))
}

const ONLY_SHUFFLES: &str = "A shuffle stage of Spark also reads, sorts and writes, on links of a gigabit. Here \
    shuffles only send, at 100 Mbit/s, and three at a time. The gain is therefore the gain from the order \
    times that from compression, 1/ξ, which is 5.3 for the most compressible application.";

const OTHER_SHARES: &str = "The shares are those of Facebook's jobs, most of which hardly shuffle. A job that becomes \
    1.66 times faster when its shuffle becomes 1.90 times faster spends 84 % of its time in shuffle.";

const FIGURE_7B: Item = Item {
    place: "Figure 7(b)",
    section: "VI-B1",
    shows: "traffic saved, by scale (testbed)",
    plan: Planning::Runs(|planner| {
        let introduction = introduction(planner);
        let scales = SCALES.map(|scale| (scale, applications(planner, scale)));
        Ok(Box::new(move |results, section| {
            section.notes.extend(introduction);
            section
                .note("The text we have lacks the figure's bars; Table VII has the same scales.");
            for (scale, applications) in &scales {
                let one = |app: &Application| reduction(std::slice::from_ref(app), results);
                let reductions = applications.iter().map(|app| Ok((app, one(app)?)));
                let mut reductions = reductions.collect::<Result<Vec<_>, String>>()?;
                reductions.sort_by(|a, b| a.1.total_cmp(&b.1));
                let extremes = reductions.first().zip(reductions.last());
                let Some((min, max)) = extremes else { continue };
                let add = |what, (app, ours): &(&Application, f64)| {
                    let what = format!("{scale}, {what} ({})", app.name);
                    Finding::new(what, Setting::Testbed, &[app.tcp, app.fvdf], *ours).unit("%")
                };
                section.add(
                    add("least", min)
                        .says("traffic is reduced at each scale", Rule::MoreThan(0.0))
                        .check(),
                );
                section.add(add("most", max));
            }
            Ok(())
        }))
    }),
};
