//! Facts as lines of text.

use std::collections::{BTreeMap, BTreeSet};

use covey_api::{
    AgentStatus, CoflowStatus, CoordinatorStatus, FullLink, NearFlow, Presence, UnnamedFlow,
    Waiting,
};
use covey_trace::is_printable;

use super::facts::Facts;
use super::order::Order;
use super::table::{Side, table};
use super::units::{bytes, duration, rate};

/// The most characters of a coflow's name.
const MAX_NAME: usize = 24;

/// The most full links that are named.
const MAX_LINKS: usize = 2;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// The most coflows.
    pub coflows: usize,
    /// The most agents, and the most relays.
    pub agents: usize,
    /// Whether agents come first that are not there, rather than by port.
    pub troubled_agents: bool,
}

/// Facts as lines of text, all of it printable, whatever clients have named their coflows.
pub fn lines(facts: &Facts, order: Order, amount: Amount) -> Vec<String> {
    let mut lines = head(facts);
    lines.extend(coflows(facts, order, amount.coflows));
    lines.extend(agents(facts, amount));
    lines.extend(relays(facts, amount.agents));
    lines.extend(found(&facts.flows.items, amount.coflows));
    let printable = |c: char| if is_printable(c) { c } else { '\u{fffd}' };
    lines.iter().map(|line| line.chars().map(printable).collect()).collect()
}

/// What there is in all.
fn head(facts: &Facts) -> Vec<String> {
    let ready = if facts.ready { "ready" } else { "not ready: it takes no changes" };
    let Some(it) = &facts.coordinator else { return vec![format!("coordinator  {ready}")] };
    let CoordinatorStatus { version, policy, epoch, up_s, ports, port_rate, .. } = it;
    let up = duration(*up_s);
    let fabric = format!("{ports} ports of {}", rate(*port_rate));
    let mut lines = vec![format!(
        "coordinator  {ready}; covey {version}, policy {policy}, {fabric}, epoch {epoch}, up {up}"
    )];
    if it.schedule_age_s > 2.0 * it.heartbeat_s {
        let age = duration(it.schedule_age_s);
        lines.push(format!("             an agent has not applied its schedule for {age}"));
    }
    if let (Some(confidence), Some(least)) = (it.confidence, it.confidence_least) {
        let what = match confidence >= least {
            true => "flows are scheduled by the coflows found",
            false => "coflows cannot be told apart: no flow is held or paced",
        };
        lines.push(format!("             confidence {confidence:.2}, least {least:.2}: {what}"));
    }
    lines
}

/// A list that ends early is followed by this.
fn more(shown: usize, there: usize, next: Option<&String>) -> Option<String> {
    match there - shown {
        0 => next.map(|_| "  …".to_owned()),
        left => Some(format!("  … {left}{} more", if next.is_some() { " or" } else { "" })),
    }
}

fn coflows(facts: &Facts, order: Order, max: usize) -> Vec<String> {
    let now_s = facts.coordinator.as_ref().map(|it| it.now_s);
    let all = order.sorted(facts);
    let row = |coflow: &&CoflowStatus| {
        let age = now_s.map_or_else(String::new, |now_s| duration(now_s - coflow.arrival_s));
        vec![
            coflow.id.to_string(),
            facts.standing(coflow).name().to_owned(),
            coflow.name.as_deref().map_or_else(|| "-".to_owned(), short),
            age,
            format!("{} of {}", coflow.flows_ended, coflow.flows),
            bytes(coflow.bytes_sent),
            rate(coflow.rate),
            why(coflow, facts.waiting.get(&coflow.id)),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().take(max).map(row).collect();
    let mut lines = vec![match &facts.coordinator {
        None => "coflows".to_owned(),
        Some(CoordinatorStatus {
            coflows, coflows_stalled, coflows_idle, coflows_expired, ..
        }) => {
            format!(
                "coflows      {coflows} present: {coflows_stalled} stalled, {coflows_idle} idle, {coflows_expired} expired"
            )
        }
    }];
    if !rows.is_empty() {
        let columns = [
            ("coflow", Side::Right),
            ("state", Side::Left),
            ("name", Side::Left),
            ("age", Side::Right),
            ("ended", Side::Right),
            ("sent", Side::Right),
            ("rate", Side::Right),
            ("", Side::Left),
        ];
        lines.extend(table(&columns, &rows));
    }
    lines.extend(more(rows.len(), all.len(), facts.coflows.next.as_ref()));
    lines
}

/// A name that fits into a column.
fn short(name: &str) -> String {
    match name.chars().count() {
        count if count <= MAX_NAME => name.to_owned(),
        _ => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
    }
}

/// Why a coflow has no rate, or why some of its flows have none.
fn why(coflow: &CoflowStatus, waiting: Option<&Waiting>) -> String {
    let CoflowStatus { flows, flows_stalled, flows_idle, .. } = coflow;
    let mut reasons = Vec::new();
    if *flows_stalled > 0 {
        let lost = waiting.map_or(&[][..], |waiting| &waiting.lost);
        let agents = match lost {
            [] => "their hosts have no agent".to_owned(),
            [port] => format!("the agent of port {port} is lost"),
            ports => format!("the agents of ports {} are lost", listed(ports)),
        };
        reasons.push(format!("{flows_stalled} of {flows} flows stalled: {agents}"));
    }
    if let Some(idle) = &coflow.idle_why {
        let meaning = meaning(idle);
        let since = duration(coflow.idle_s.unwrap_or_default());
        reasons.push(format!("{flows_idle} of {flows} flows unused for {since}: {meaning}"));
    }
    match waiting.map(|waiting| (&*waiting.why, waiting)) {
        Some(("behind", waiting)) => {
            let links: Vec<String> = waiting.behind.iter().take(MAX_LINKS).map(behind).collect();
            reasons.push(format!("behind {}", links.join(" and ")));
        }
        Some(("policy", waiting)) => {
            let place = waiting.place.map(|place| format!(", number {} in its order", place + 1));
            reasons.push(format!("the policy gives it no rate{}", place.unwrap_or_default()));
        }
        Some(("parents", _)) => reasons.push("its parents have not ended".to_owned()),
        Some(("open", _)) => reasons.push("open: it waits for flows".to_owned()),
        Some(("written", _)) => {
            reasons.push("all is sent, and its receivers have yet to confirm it".to_owned());
        }
        _ => {}
    }
    reasons.join("; ")
}

/// The coflows that fill a link.
fn behind(link: &FullLink) -> String {
    let FullLink { port, direction, coflows, served } = link;
    let others = match served - coflows.len().min(*served) {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    let noun = if *served == 1 { "coflow" } else { "coflows" };
    format!("{noun} {}{others} at port {port} ({direction})", listed(coflows))
}

fn listed(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Explains why a flow does not use its rate.
fn meaning(why: &str) -> &str {
    match why {
        "idle" => "they sent nothing",
        "unopened" => "no application has opened them",
        "closed" => "their application has ended",
        "expired" => "the lease has run out",
        other => other,
    }
}

fn agents(facts: &Facts, amount: Amount) -> Vec<String> {
    let all = match amount.troubled_agents {
        true => facts.agents_by_trouble(),
        false => facts.agents.items.iter().collect(),
    };
    let ago = |s: Option<f64>| s.map_or_else(|| "-".to_owned(), duration);
    let row = |agent: &&AgentStatus| {
        let peer = agent.peer.map_or_else(|| "-".to_owned(), |peer| peer.to_string());
        vec![
            agent.port.to_string(),
            match agent.state {
                Presence::Joined => "joined",
                Presence::Awaited => "awaited",
                Presence::Lost => "lost",
            }
            .to_owned(),
            agent.relay.map_or_else(|| "-".to_owned(), |relay| relay.to_string()),
            peer,
            ago(agent.joined_s),
            ago(agent.heard_s),
            agent.flows.to_string(),
            agent.version.to_string(),
            agent.applied.to_string(),
            match (agent.unapplied_s, agent.draining) {
                (Some(s), _) => format!("not applied for {}", duration(s)),
                (None, true) => "gets no new flows".to_owned(),
                (None, false) => String::new(),
            },
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().take(amount.agents).map(row).collect();
    let mut lines = vec![match &facts.coordinator {
        None => "agents".to_owned(),
        Some(it) => format!("agents       {} of {} joined", it.agents, it.ports),
    }];
    if !rows.is_empty() {
        let columns = [
            ("port", Side::Right),
            ("state", Side::Left),
            ("relay", Side::Right),
            ("address", Side::Left),
            ("joined", Side::Right),
            ("heard", Side::Right),
            ("flows", Side::Right),
            ("schedule", Side::Right),
            ("applied", Side::Right),
            ("", Side::Left),
        ];
        lines.extend(table(&columns, &rows));
    }
    lines.extend(more(rows.len(), all.len(), facts.agents.next.as_ref()));
    lines
}

fn relays(facts: &Facts, max: usize) -> Vec<String> {
    let all = &facts.relays.items;
    if all.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .take(max)
        .map(|relay| {
            vec![
                relay.session.to_string(),
                relay.peer.to_string(),
                duration(relay.joined_s),
                duration(relay.heard_s),
                relay.agents.to_string(),
            ]
        })
        .collect();
    let columns = [
        ("relay", Side::Right),
        ("address", Side::Left),
        ("joined", Side::Right),
        ("heard", Side::Right),
        ("agents", Side::Right),
    ];
    let mut lines = vec!["relays".to_owned()];
    lines.extend(table(&columns, &rows));
    lines.extend(more(rows.len(), all.len(), facts.relays.next.as_ref()));
    lines
}

/// Describes the flow of a coflow that is furthest from its nearest flow: the distance of the two,
/// where 1 is too far, and the attribute in which they differ most.
fn furthest(flows: &[&UnnamedFlow]) -> String {
    let near = flows.iter().filter_map(|flow| Some((flow.id, flow.near.as_ref()?)));
    let of_radius = |near: &NearFlow| near.distance / near.radius;
    let Some((id, near)) = near.max_by(|a, b| of_radius(a.1).total_cmp(&of_radius(b.1))) else {
        return "-".to_owned();
    };
    let most = near.shares.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let by = most
        .map_or_else(String::new, |(name, share)| format!(", {:.0} % by {name}", 100.0 * share));
    format!("{id}: {:.2} from {}{by}", of_radius(near), near.id)
}

/// The coflows that were found among flows that no application has named.
fn found(flows: &[UnnamedFlow], max: usize) -> Vec<String> {
    let mut found: BTreeMap<u64, Vec<&UnnamedFlow>> = BTreeMap::new();
    for flow in flows {
        if let Some(coflow) = flow.found {
            found.entry(coflow).or_default().push(flow);
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let sum = |flows: &[&UnnamedFlow], of: fn(&UnnamedFlow) -> f64| {
        flows.iter().map(|flow| of(flow)).sum::<f64>()
    };
    let hosts = |flows: &[&UnnamedFlow], of: fn(&UnnamedFlow) -> u32| {
        flows.iter().map(|flow| of(flow)).collect::<BTreeSet<u32>>().len().to_string()
    };
    let rows: Vec<Vec<String>> = found
        .iter()
        .take(max)
        .map(|(coflow, flows)| {
            vec![
                coflow.to_string(),
                flows.len().to_string(),
                hosts(flows, |flow| flow.src),
                hosts(flows, |flow| flow.dst),
                bytes(sum(flows, |flow| flow.bytes_sent)),
                rate(sum(flows, |flow| flow.rate)),
                furthest(flows),
            ]
        })
        .collect();
    let columns = ["coflow", "flows", "senders", "receivers", "sent", "rate"];
    let mut columns = columns.map(|name| (name, Side::Right)).to_vec();
    columns.push(("furthest flow", Side::Left));
    let mut lines = vec!["found among flows that no application has named".to_owned()];
    lines.extend(table(&columns, &rows));
    lines.extend(more(rows.len(), found.len(), None));
    lines
}
