//! Measures docs/identify.md: how well coflows are identified on the rungs of the
//! ladder, and how fast live flows are. Prints Markdown.
//!
//! `ladder accuracy TRACE` and `ladder speed`. TRACE is as on the command line. Metrics are learned
//! from `builtin:fb-like` of another seed, with another mix of frameworks and applications.

use std::collections::VecDeque;
use std::error::Error;

use covey_identify::{
    Accuracies, Algorithm, Clusterer, FlowNumber, Form, Learning, Metric, accuracy, identify, learn,
};
use covey_trace::observe::{Arrivals, Framework, LADDER, Labelled, Rung};

/// The rung to learn from: other seed, density, noise, mix and number of applications than any rung
/// tested.
const TRAINING: Rung = Rung {
    name: "training",
    arrivals: Arrivals::Denser(15.0),
    noise_s: 0.030,
    frameworks: &[Framework::Spark, Framework::Spark, Framework::Hadoop, Framework::Collective],
    applications: 5,
};
const TRAINING_TRACE: &str = "fb-like:seed=21,coflows=400";
/// Seed of what appears at random in the rungs that are tested.
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["accuracy", trace] => ladder(trace),
        ["speed"] => speed(),
        _ => Err("usage: ladder accuracy TRACE | ladder speed".into()),
    }
}

/// The table of the ladder.
fn ladder(trace: &str) -> Result<(), Box<dyn Error>> {
    let workload = covey_trace::open(trace)?;
    let training = TRAINING.flows(&covey_trace::builtin(TRAINING_TRACE)?, 21)?;
    let learned = |form| {
        let learning = Learning { form, pairs: 10_000, seed: 1 };
        learn(&training.flows, &training.coflows, &learning)
    };
    let metrics = [Metric::default(), learned(Form::Diagonal)?, learned(Form::Full)?];
    metrics.iter().for_each(|metric| eprintln!("{}", metric.to_text()));
    let learned_gap_s = best_gap_s(&training);
    eprintln!("start alone: a gap of {learned_gap_s} s");
    println!(
        "| rung | coflows that overlap | start alone, best gap | start alone, learned gap | default | learned, diagonal | learned, full |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for rung in LADDER {
        let labelled = rung.flows(&workload, SEED)?;
        let start = [best_gap_s(&labelled), learned_gap_s].map(|gap| start_alone(&labelled, gap));
        let found = metrics.each_ref().map(|metric| {
            let groups = identify(&labelled.flows, metric, Algorithm::DEFAULT);
            accuracy(&groups, &labelled.coflows)
        });
        let cells = start.iter().chain(&found).map(cell).collect::<Vec<_>>().join(" | ");
        println!("| `{}` | {:.0} % | {cells} |", rung.name, 100.0 * overlapping(&labelled));
    }
    Ok(())
}

/// F1 per flow and per coflow.
fn cell(found: &Accuracies) -> String {
    format!("{:.3} {:.3}", found.per_flow.f1(), found.per_coflow.f1())
}

/// The share of coflows in whose interval of starts a flow of another coflow starts.
fn overlapping(labelled: &Labelled) -> f64 {
    let coflows = labelled.coflows.iter().max().map_or(0, |last| *last as usize + 1);
    let (mut first, mut last) = (vec![usize::MAX; coflows], vec![0; coflows]);
    let mut flows = vec![0; coflows];
    for (place, &coflow) in labelled.coflows.iter().enumerate() {
        let coflow = coflow as usize;
        flows[coflow] += 1;
        first[coflow] = first[coflow].min(place);
        last[coflow] = place;
    }
    // With simultaneous starts the neighbours in order count too.
    let starts = |place: usize| labelled.flows[place].start_s;
    let touches = |a: usize, b: usize| starts(a) == starts(b);
    let overlaps = (0..coflows).filter(|&c| {
        let is_mixed = last[c] + 1 - first[c] > flows[c];
        is_mixed
            || first[c] > 0 && touches(first[c] - 1, first[c])
            || last[c] + 1 < labelled.flows.len() && touches(last[c], last[c] + 1)
    });
    overlaps.count() as f64 / coflows as f64
}

/// What start times alone find: flows that start at most so many seconds after one another.
fn start_alone(labelled: &Labelled, gap_s: f64) -> Accuracies {
    let mut group = 0;
    let groups = labelled.flows.windows(2).map(|pair| {
        group += u32::from(pair[1].start_s - pair[0].start_s > gap_s);
        group
    });
    let groups: Vec<u32> = std::iter::once(0).chain(groups).collect();
    accuracy(&groups, &labelled.coflows)
}

/// The gap, in seconds, with which start times alone find most of these flows' coflows: the highest
/// sum of F1 per flow and per coflow.
fn best_gap_s(labelled: &Labelled) -> f64 {
    let gaps = (0..45).map(|k| 1e-6 * 1.5_f64.powi(k));
    let score = |found: Accuracies| found.per_flow.f1() + found.per_coflow.f1();
    let scored = gaps.map(|gap_s| (score(start_alone(labelled, gap_s)), gap_s));
    let (_, gap_s) = scored.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are gaps");
    gap_s
}

/// CPU time of this thread in seconds: other work on the machine does not count.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has this file");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("it starts with the time on a processor") * 1e-9
}

/// Live flows in the measurement of speed.
const LIVE: usize = 10_000;
/// Flow events between two comparisons with clustering from scratch.
const EVENTS_PER_COMPARISON: usize = 200_000;

/// Identification of live flows: events a second, and the same from scratch.
fn speed() -> Result<(), Box<dyn Error>> {
    let workload = covey_trace::builtin("fb-like:seed=1")?;
    let rung = LADDER.iter().find(|rung| rung.name == "mixed-denser").expect("a rung");
    let labelled = rung.flows(&workload, SEED)?;
    println!("| groups asked for | flow events a second | one event, µs | refreshes |");
    println!("|---|--:|--:|--:|");
    let mut event_s = 0.0;
    for (name, every_s) in [("every 8 ms of trace time", 0.008), ("after every event", 0.0)] {
        let (events, refreshes, wall_s) = live(&labelled, every_s, |_, _| ());
        event_s = wall_s / events as f64;
        println!("| {name} | {:.0} | {:.2} | {refreshes} |", 1.0 / event_s, 1e6 * event_s);
    }
    println!();
    println!("| {LIVE} live flows | one clustering, ms | × one event | F1 per flow, per coflow |");
    println!("|---|--:|--:|--:|");
    from_scratch(&labelled, event_s);
    Ok(())
}

/// Flows start in order; each ends when `LIVE` others have started since. Calls `compare` now and
/// then with the live flows. Returns the number of events and of refreshes, and the time without
/// comparisons.
fn live(
    labelled: &Labelled,
    every_s: f64,
    mut compare: impl FnMut(&Clusterer, &VecDeque<(usize, FlowNumber)>),
) -> (usize, usize, f64) {
    let mut clusterer = Clusterer::new(Metric::default());
    let mut live: VecDeque<(usize, FlowNumber)> = VecDeque::new();
    let (mut events, mut refreshes, mut wall_s) = (0, 0, 0.0);
    let (mut began, mut last_s) = (cpu_s(), f64::NEG_INFINITY);
    for (place, flow) in labelled.flows.iter().enumerate() {
        live.push_back((place, clusterer.start(flow)));
        events += 1;
        if live.len() > LIVE
            && let Some((_, oldest)) = live.pop_front()
        {
            clusterer.end(oldest);
            events += 1;
        }
        if flow.start_s - last_s >= every_s {
            last_s = flow.start_s;
            clusterer.refresh();
            refreshes += 1;
        }
        if place % (EVENTS_PER_COMPARISON / 2) == EVENTS_PER_COMPARISON / 2 - 1 {
            wall_s += cpu_s() - began;
            clusterer.refresh();
            compare(&clusterer, &live);
            began = cpu_s();
        }
    }
    (events, refreshes, wall_s + cpu_s() - began)
}

/// The time to cluster the live flows from scratch, and the accuracy, means of several moments.
fn from_scratch(labelled: &Labelled, event_s: f64) {
    let algorithms = [
        ("kept up to date", None),
        ("Rough-DBSCAN", Some(Algorithm::Rough { min_points: 1 })),
        ("DBSCAN", Some(Algorithm::Dbscan { min_points: 1 })),
    ];
    for (name, algorithm) in algorithms {
        let (mut n, mut spent_s, mut f1) = (0.0, 0.0, [0.0; 2]);
        live(labelled, 0.008, |clusterer, live| {
            let coflow_of: std::collections::BTreeMap<FlowNumber, u32> =
                live.iter().map(|&(place, flow)| (flow, labelled.coflows[place])).collect();
            let began = cpu_s();
            let groups = match algorithm {
                Some(algorithm) => clusterer.anew(algorithm),
                None => {
                    let group = |flow| clusterer.group(flow).expect("it is refreshed").0;
                    coflow_of.keys().map(|&flow| (flow, group(flow))).collect()
                }
            };
            spent_s += cpu_s() - began;
            n += 1.0;
            let (flows, groups): (Vec<FlowNumber>, Vec<u32>) = groups.into_iter().unzip();
            let coflows: Vec<u32> = flows.iter().map(|flow| coflow_of[flow]).collect();
            let found = accuracy(&groups, &coflows);
            f1[0] += found.per_flow.f1();
            f1[1] += found.per_coflow.f1();
        });
        let f1 = format!("{:.3} {:.3}", f1[0] / n, f1[1] / n);
        match algorithm {
            None => println!("| {name} | | | {f1} |"),
            Some(_) => {
                let (ms, times) = (1e3 * spent_s / n, spent_s / n / event_s);
                println!("| {name} from scratch | {ms:.1} | {times:.0} | {f1} |");
            }
        }
    }
}
