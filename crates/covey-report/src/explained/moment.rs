//! What the ports carry at a time.

use std::collections::BTreeMap;
use std::fmt;

use covey_core::{Fabric, LinkId};
use covey_trace::results::Span;
use serde::Serialize;

use super::align::align;
use super::links::link_name;
use crate::Run;
use crate::units::fixed;

/// A port is full if so much of it is used.
const FULL: f64 = 0.99;
/// The most ports of a table, and the most coflows of one of its rows.
const ROWS: usize = 20;
const NAMED: usize = 4;

/// What the ports carry at a time under a policy. `Serialize` gives the object of
/// `explain --at --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// The policy, as the user typed it.
    pub policy: String,
    /// The time, in seconds since the start of the trace.
    pub at_s: f64,
    /// Since when all rates are what they are.
    pub from_s: f64,
    /// Until when; absent after the last end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
    /// Coflows that have been released and have not ended.
    pub present: usize,
    /// Those of them that send.
    pub sending: usize,
    /// Number of links out of and into ports.
    pub links: usize,
    /// Those that carry something, the fullest first.
    pub ports: Vec<UsedPort>,
}

/// A link out of a port, or into one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsedPort {
    /// Its name.
    pub port: String,
    /// The used part of its capacity.
    pub used: f64,
    /// The coflows that use it, the highest rate first.
    pub coflows: Vec<UsedBy>,
}

/// A coflow that uses a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsedBy {
    /// Its id in the trace.
    pub coflow: String,
    /// The part of the link's capacity that it uses.
    pub used: f64,
}

impl Moment {
    /// What a run on `fabric` does at `at_s`, in seconds since the start of the trace.
    /// `covey_sim::Timeline` has recorded the `spans` of the run. If rates change at `at_s`, the
    /// new rates count.
    pub fn of(run: &Run<'_>, fabric: &Fabric, spans: &[Span], at_s: f64) -> Moment {
        let coflows = &run.outcome().coflows;
        let is_now = |from_s: f64, until_s: f64| from_s <= at_s && at_s < until_s;
        let present = coflows.iter().filter(|it| is_now(it.release_s, it.completion_s)).count();
        let mut by_link: BTreeMap<LinkId, Vec<&Span>> = BTreeMap::new();
        for span in spans.iter().filter(|span| is_now(span.start_s, span.end_s)) {
            by_link.entry(span.link).or_default().push(span);
        }
        let mut sending: Vec<u32> = by_link.values().flatten().map(|span| span.coflow).collect();
        sending.sort_unstable();
        sending.dedup();
        let used = |(link, mut spans): (LinkId, Vec<&Span>)| {
            spans.sort_by(|a, b| b.rate.total_cmp(&a.rate).then(a.coflow.cmp(&b.coflow)));
            let capacity = fabric.capacity()[link.index()];
            let by = |span: &&Span| UsedBy {
                coflow: run.workload().coflows[span.coflow as usize].id.clone(),
                used: span.rate / capacity,
            };
            UsedPort {
                port: link_name(run.workload(), fabric, link),
                used: spans.iter().map(|span| span.rate).sum::<f64>() / capacity,
                coflows: spans.iter().map(by).collect(),
            }
        };
        let mut ports: Vec<UsedPort> = by_link.into_iter().map(used).collect();
        // The sort is stable: equals stay in the order of links.
        ports.sort_by(|a, b| b.used.total_cmp(&a.used));
        let changes = || {
            let of_spans = spans.iter().flat_map(|span| [span.start_s, span.end_s]);
            of_spans.chain(coflows.iter().flat_map(|it| [it.release_s, it.completion_s]))
        };
        let until_s = changes().filter(|s| *s > at_s).fold(f64::INFINITY, f64::min);
        Moment {
            policy: run.info().label.clone(),
            at_s,
            from_s: changes().filter(|s| *s <= at_s).fold(0.0, f64::max),
            until_s: Some(until_s).filter(|s| s.is_finite()),
            present,
            sending: sending.len(),
            links: 2 * fabric.ports() as usize,
            ports,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { policy, present, sending, links, .. } = self;
        let (at, from) = (seconds(self.at_s), seconds(self.from_s));
        let full = self.ports.iter().filter(|port| port.used >= FULL).count();
        let until =
            self.until_s.map_or_else(|| "on".to_owned(), |s| format!("to {} s", seconds(s)));
        writeln!(
            out,
            "At {at} s under {policy}, from {from} s {until}: {present} coflows present, \
             {sending} sending; {full} of {links} links of ports full."
        )?;
        if self.ports.is_empty() {
            return Ok(());
        }
        let mut rows = vec![["port", "used, %", "by"].map(str::to_owned).to_vec()];
        for port in self.ports.iter().take(ROWS) {
            let by = |it: &UsedBy| format!("{} ({} %)", it.coflow, fixed(100.0 * it.used, 0));
            let mut named: Vec<String> = port.coflows.iter().take(NAMED).map(by).collect();
            if port.coflows.len() > NAMED {
                named.push(format!("{} others", port.coflows.len() - NAMED));
            }
            rows.push(vec![port.port.clone(), fixed(100.0 * port.used, 0), named.join(", ")]);
        }
        align(&rows, |column| column == 1, out)?;
        match self.ports.len().saturating_sub(ROWS) {
            0 => Ok(()),
            more => writeln!(out, "{more} more ports carry something: --json has all"),
        }
    }
}

fn seconds(s: f64) -> String {
    fixed(s, 3)
}
