//! `covey explain --live`: what the time of a coflow of a coordinator goes to.
//!
//! What the coflow did before is what the coordinator has recorded. From then on the command asks
//! what it does, again and again. What holds at one answer is taken to hold until the next one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use covey_api::{CoflowState, CoflowStatus, CoordinatorStatus, FullLink, Page, Waiting};
use covey_report::{Explained, ExplainedPart, ExplainedReason, Explanations};
use covey_trace::is_printable;
use covey_trace::results::Kind;

use crate::failure::Failure;
use crate::live::overview::Source;
use crate::live::process::{self, CLIENTS, Shown};
use crate::live::recording::recorded;
use crate::output;
use crate::quantity;

/// A coflow of a coordinator.
#[derive(Debug, Args)]
pub struct Live {
    /// Instead of a trace: explain this coflow of a coordinator, and watch it until it ends, or
    /// until Ctrl-C
    #[arg(long = "live", id = "live", value_name = "ID", conflicts_with_all = ["trace", "picture"])]
    pub id: Option<u64>,
    /// With --live: address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS, requires = "live")]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// With --live: time between two questions to the coordinator
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "live")]
    every: String,
}

impl Live {
    /// Watches the coflow, and explains the time since its arrival.
    pub fn explain(self, id: u64) -> Result<Explanations, Failure> {
        let every_s = quantity::time_within("--every", &self.every, ["10ms", "1min"])?;
        let source = Source::of(&self.coordinator, self.shown)?;
        let explained =
            process::runtime_here()?.block_on(watch(&source, id, Duration::from_secs_f64(every_s)));
        Ok(Explanations::new(vec![vec![explained?]]))
    }
}

/// What a coflow does at a time.
#[derive(Debug, Clone, PartialEq)]
struct Doing {
    kind: Kind,
    coflow: Option<String>,
    port: Option<String>,
    why: Option<String>,
}

async fn watch(source: &Source, id: u64, every: Duration) -> Result<Explained, Failure> {
    let about: CoordinatorStatus = source.change("GET", "/v1/coordinator").await?;
    let begin = Instant::now();
    let path = format!("/v1/coflows/{id}");
    let mut status: CoflowStatus = source.change("GET", &path).await?;
    if status.is_over() {
        let found = format!("{id}, which has ended");
        return Err(Failure::argument("--live", "a coflow that has not ended", found));
    }
    let name = named(&status);
    output::note(&format!("watches {name} until it ends; Ctrl-C ends it before"));
    let mut end = std::pin::pin!(process::asked_to_end());
    let mut names = BTreeMap::new();
    let mut parts = before(source, &status, about.now_s, &mut names).await;
    let mut last_s = 0.0;
    while !status.is_over() {
        let doing = doing(source, &status, &mut names).await?;
        let is_asked_to_end = tokio::select! {
            () = tokio::time::sleep(every) => false,
            () = &mut end => true,
        };
        status = source.change("GET", &path).await?;
        let now_s = begin.elapsed().as_secs_f64();
        let from_s = about.now_s - status.arrival_s;
        add(&mut parts, part(&doing, from_s + last_s, from_s + now_s));
        last_s = now_s;
        if is_asked_to_end {
            break;
        }
    }
    let cct_s = parts.iter().map(|part| part.s).sum();
    parts.sort_by(|a, b| b.s.total_cmp(&a.s));
    Ok(Explained {
        coflow: name,
        policy: about.policy,
        cct_s,
        release_s: status.arrival_s,
        completion_s: status.arrival_s + cct_s,
        is_present: !status.is_over(),
        bottleneck: String::new(),
        parents_s: 0.0,
        parent: None,
        parts,
    })
}

/// What the coflow did from its arrival until now, as the coordinator has recorded it.
async fn before(
    source: &Source,
    status: &CoflowStatus,
    now_s: f64,
    names: &mut BTreeMap<u64, String>,
) -> Vec<ExplainedPart> {
    let unseen = Doing { kind: Kind::Unseen, coflow: None, port: None, why: None };
    // An earlier version records nothing.
    let recorded = recorded(source, status.id).await.ok().flatten();
    let mut parts = Vec::new();
    let (arrival_s, mut seen_s) = (status.arrival_s, status.arrival_s);
    for did in recorded.into_iter().flat_map(|it| it.did) {
        let until_s = did.until_s.min(now_s);
        if until_s > seen_s {
            let from_s = did.from_s.max(seen_s);
            add(&mut parts, part(&unseen, seen_s - arrival_s, from_s - arrival_s));
            let doing = told(source, did.doing, names).await;
            add(&mut parts, part(&doing, from_s - arrival_s, until_s - arrival_s));
            seen_s = until_s;
        }
    }
    add(&mut parts, part(&unseen, seen_s - arrival_s, now_s - arrival_s));
    parts.retain(|part| part.s > 0.0);
    parts
}

/// What the coordinator says that the coflow does, in the words of an explanation.
/// `names` are those of other coflows that are known already.
async fn told(
    source: &Source,
    doing: covey_api::Doing,
    names: &mut BTreeMap<u64, String>,
) -> Doing {
    let (kind, why) = kind(&doing.what);
    let coflow = match doing.behind {
        None => None,
        Some(id) => match names.get(&id) {
            Some(known) => Some(known.clone()),
            None => {
                let asked = name(source, id).await;
                names.insert(id, asked.clone());
                Some(asked)
            }
        },
    };
    let port = doing.port.zip(doing.direction);
    Doing { kind, coflow, port: port.map(|(port, way)| format!("port {port} {way}")), why }
}

/// What a time goes to in which the coflow does `what`. If the coflow does not use its rates, also
/// the reason.
fn kind(what: &str) -> (Kind, Option<String>) {
    match what {
        "sending" => (Kind::Sending, None),
        "behind" => (Kind::Waiting, None),
        "policy" => (Kind::Paced, None),
        "stalled" => (Kind::Away, None),
        "open" | "parents" => (Kind::Start, None),
        other => (Kind::Idle, Some(other.to_owned())),
    }
}

/// A part of the time from `from_s` to `until_s` since the arrival.
fn part(doing: &Doing, from_s: f64, until_s: f64) -> ExplainedPart {
    let Doing { kind, coflow, port, why } = doing.clone();
    let reason = why.map(|by| ExplainedReason { by, unit: None, value: None, own: None });
    ExplainedPart { kind, s: until_s - from_s, coflow, port, reason, from_s, until_s }
}

/// Adds a part to those of its kind, if there is one.
fn add(parts: &mut Vec<ExplainedPart>, more: ExplainedPart) {
    let is_like = |part: &&mut ExplainedPart| {
        (part.kind, &part.coflow, &part.port, &part.reason)
            == (more.kind, &more.coflow, &more.port, &more.reason)
    };
    match parts.iter_mut().find(is_like) {
        Some(part) => (part.s, part.until_s) = (part.s + more.s, more.until_s),
        None => parts.push(more),
    }
}

/// What a coflow does now.
async fn doing(
    source: &Source,
    status: &CoflowStatus,
    names: &mut BTreeMap<u64, String>,
) -> Result<Doing, Failure> {
    let id = status.id;
    if status.rate > 0.0 {
        return Ok(Doing { kind: Kind::Sending, coflow: None, port: None, why: None });
    }
    let none = |kind, why| Doing { kind, coflow: None, port: None, why };
    if status.state == CoflowState::Stalled {
        return Ok(none(Kind::Away, None));
    }
    let path = format!("/v1/waiting?limit=1&cursor={id}");
    let waiting: Page<Waiting> = source.change("GET", &path).await?;
    let Some(it) = waiting.items.into_iter().find(|it| it.coflow == id) else {
        return Ok(none(Kind::Undecided, None));
    };
    let link: Option<&FullLink> = it.behind.first();
    let doing = covey_api::Doing {
        what: it.why.clone(),
        layer: it.layer,
        behind: link.and_then(|link| link.coflows.first().copied()),
        port: link.map(|link| link.port),
        direction: link.map(|link| link.direction.clone()),
    };
    Ok(told(source, doing, names).await)
}

/// The name of another coflow; its number, if it has gone.
async fn name(source: &Source, id: u64) -> String {
    let status: Result<CoflowStatus, _> = source.change("GET", &format!("/v1/coflows/{id}")).await;
    status.map_or_else(|_| id.to_string(), |it| named(&it))
}

/// The name of a coflow, or its number. All of it is printable, whatever its framework calls it.
fn named(status: &CoflowStatus) -> String {
    let printable = |c: char| if is_printable(c) { c } else { '\u{fffd}' };
    let name = status.name.as_ref().map(|name| name.chars().map(printable).collect());
    name.unwrap_or_else(|| status.id.to_string())
}
