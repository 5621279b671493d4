//! What a coordinator remembers of the last minutes, as a trace for Perfetto's viewer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use covey_api::{CoordinatorStatus, RecordedCoflow, Recording};
use covey_core::{Fabric, PortId};
use covey_report::{Run, RunInfo, write_perfetto};
use covey_trace::results::{CoflowOutcome, Outcome, QueueLengths, Span};
use covey_trace::{Coflow, Workload, is_printable};

use crate::failure::Failure;
use crate::live::overview::Source;

/// Coflows of a page.
const PAGE: usize = 1000;

/// The most queues that are shown. Coflows of later ones count as in the last.
const MAX_QUEUES: usize = 64;

/// All that the coordinator remembers.
pub async fn recording(source: &Source) -> Result<Recording, Failure> {
    let mut all: Recording = source.change("GET", &path(None, PAGE)).await?;
    while let Some(next) = all.next.take() {
        let more: Recording = source.change("GET", &path(Some(&next), PAGE)).await?;
        all.items.extend(more.items);
        (all.now_s, all.next) = (more.now_s, more.next);
        all.left_out = all.left_out.max(more.left_out);
    }
    Ok(all)
}

/// What the coordinator remembers of one coflow.
pub async fn recorded(source: &Source, id: u64) -> Result<Option<RecordedCoflow>, Failure> {
    let page: Recording = source.change("GET", &path(Some(&id.to_string()), 1)).await?;
    Ok(page.items.into_iter().find(|it| it.id == id))
}

fn path(cursor: Option<&str>, limit: usize) -> String {
    let cursor = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
    format!("/v1/recording?limit={limit}{cursor}")
}

/// Writes a recording as a trace for Perfetto. It begins when what is remembered begins.
pub fn write(about: &CoordinatorStatus, recording: &Recording, out: impl Write) -> io::Result<()> {
    let fabric = Fabric::big_switch(about.ports, about.port_rate).map_err(io::Error::other)?;
    let mut coflows: Vec<&RecordedCoflow> = recording.items.iter().collect();
    coflows.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s).then(a.id.cmp(&b.id)));
    let index: BTreeMap<u64, u32> = coflows.iter().map(|it| it.id).zip(0..).collect();
    let since = |s: f64| (s - recording.from_s).max(0.0);
    let workload = Workload {
        ports: about.ports,
        coflows: coflows.iter().map(|it| named(it, &index, since(it.arrival_s))).collect(),
        ..Workload::default()
    };
    let end_s = |it: &RecordedCoflow| since(it.end_s.unwrap_or(recording.now_s));
    let outcome = |it: &&RecordedCoflow| CoflowOutcome {
        release_s: since(it.arrival_s),
        completion_s: end_s(it).max(since(it.arrival_s)),
    };
    let outcome = Outcome { coflows: coflows.iter().map(outcome).collect(), ..Outcome::default() };
    let info = RunInfo { policy: about.policy.clone(), ..RunInfo::default() };
    let run = Run::new(&workload, outcome, info).map_err(io::Error::other)?;
    let sent =
        (0..).zip(&coflows).flat_map(|(coflow, it)| it.sent.iter().map(move |s| (coflow, s)));
    let spans: Vec<Span> = sent
        .map(|(coflow, sent)| Span {
            coflow,
            link: fabric.egress(PortId(sent.port)),
            start_s: since(sent.from_s),
            end_s: since(sent.until_s),
            rate: sent.rate,
        })
        .collect();
    write_perfetto(&run, &fabric, &spans, &queues(&coflows, since), out)
}

/// A coflow by its name and number. All of it is printable, whatever its framework calls it.
fn named(recorded: &RecordedCoflow, index: &BTreeMap<u64, u32>, arrival_s: f64) -> Coflow {
    let id = match &recorded.name {
        None => recorded.id.to_string(),
        Some(name) => {
            let printable = |c: char| if is_printable(c) { c } else { '\u{fffd}' };
            format!("{} ({})", name.chars().map(printable).collect::<String>(), recorded.id)
        }
    };
    let parents = recorded.parents.iter().filter_map(|id| index.get(id).copied()).collect();
    Coflow { parents, ..Coflow::new(id, arrival_s, Vec::new()) }
}

/// How many coflows were in each layer of the plan.
fn queues(coflows: &[&RecordedCoflow], since: impl Fn(f64) -> f64) -> Vec<QueueLengths> {
    let place = |layer: u32| (layer as usize).min(MAX_QUEUES - 1);
    let all = || coflows.iter().flat_map(|it| &it.did);
    let most = all().map(|did| place(did.doing.layer) + 1).max().unwrap_or(0);
    // Ends come first among changes of one time.
    let changes: BTreeSet<_> = all()
        .enumerate()
        .flat_map(|(number, did)| {
            let at = |s: f64, by: i32| (since(s).to_bits(), by, number, place(did.doing.layer));
            [at(did.from_s, 1), at(did.until_s, -1)]
        })
        .collect();
    let mut lengths = vec![0_i64; most];
    let mut steps: Vec<QueueLengths> = Vec::new();
    for (at, by, _, layer) in changes {
        let from_s = f64::from_bits(at);
        lengths[layer] += i64::from(by);
        let coflows = lengths.iter().map(|length| (*length).max(0) as u32).collect();
        match steps.last_mut().filter(|last| last.from_s == from_s) {
            Some(last) => last.coflows = coflows,
            None => steps.push(QueueLengths { from_s, coflows }),
        }
    }
    steps
}
