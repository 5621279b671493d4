//! Measurements, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::Arc;

use covey_core::Confidence;
use covey_door::{Door, Reason};
use covey_proto::OpeningError;

use super::histogram::Histogram;
use crate::connections::write_doors;
use crate::state::{Counts, Held, Population, SessionId, Unused};

/// What the CPU of the decision thread was used for, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Calculating rates, and finding out which agents have to be told what.
    pub calculate_s: f64,
    /// Making schedules and handing them to connections.
    pub send_s: f64,
    /// Taking in messages of agents and requests of clients.
    pub receive_s: f64,
    /// Whether any schedule was made.
    pub flushed: bool,
}

impl Used {
    fn total_s(self) -> f64 {
        self.calculate_s + self.send_s + self.receive_s
    }
}

/// Sums by scheduling interval, for Philae's Tables 6 and 7.
#[derive(Debug, Clone, Default)]
pub(super) struct Intervals {
    length_s: f64,
    /// Number of the present interval, from the start.
    present: u64,
    used: Used,
    /// Intervals that have gone by.
    gone: u64,
    /// Intervals with more CPU work than fits.
    missed: u64,
    /// Intervals in which no schedule was sent.
    unflushed: u64,
    /// Sessions that have reported in the present interval.
    reporting: Vec<SessionId>,
    /// How many sessions have reported, summed over the intervals.
    reported: u64,
    /// Sums of the seconds of an interval: calculating, sending, receiving, all.
    sums: [f64; 4],
    /// Sums of their squares.
    squares: [f64; 4],
}

impl Intervals {
    pub fn new(length_s: f64) -> Intervals {
        Intervals { length_s, ..Intervals::default() }
    }

    /// Adds what was used at `now_s` seconds from the start, and the sessions that have reported.
    pub fn add(&mut self, now_s: f64, used: Used, reporting: &mut Vec<SessionId>) {
        let number = (now_s / self.length_s) as u64;
        if number > self.present {
            let used = std::mem::take(&mut self.used);
            let (total_s, Used { calculate_s, send_s, receive_s, flushed }) =
                (used.total_s(), used);
            for (k, s) in [calculate_s, send_s, receive_s, total_s].into_iter().enumerate() {
                self.sums[k] += s;
                self.squares[k] += s * s;
            }
            self.missed += u64::from(total_s > self.length_s);
            // The intervals since then were empty.
            let gone = number - self.present;
            self.gone += gone;
            self.unflushed += gone - u64::from(flushed);
            self.reporting.sort_unstable();
            self.reporting.dedup();
            self.reported += self.reporting.len() as u64;
            self.reporting.clear();
            self.present = number;
        }
        self.reporting.append(reporting);
        self.used.calculate_s += used.calculate_s;
        self.used.send_s += used.send_s;
        self.used.receive_s += used.receive_s;
        self.used.flushed |= used.flushed;
    }

    fn write(&self, out: &mut String) {
        let all = [
            ("covey_intervals_total", "Scheduling intervals so far.", self.gone),
            (
                "covey_intervals_missed_total",
                "Intervals with more CPU work than fits.",
                self.missed,
            ),
            (
                "covey_intervals_without_flush_total",
                "Intervals in which no schedule was sent.",
                self.unflushed,
            ),
            (
                "covey_interval_agents_total",
                "Agents that reported ends or bytes, once in each interval.",
                self.reported,
            ),
        ];
        for (name, help, value) in all {
            one(name, help, "counter", value, out);
        }
        for (name, help, values) in [
            ("covey_interval_cpu_seconds_total", "CPU by interval, summed.", self.sums),
            (
                "covey_interval_cpu_seconds_squared_total",
                "CPU by interval, squares summed.",
                self.squares,
            ),
        ] {
            head(name, help, "counter", out);
            for (part, value) in ["calculate", "send", "receive", "all"].iter().zip(values) {
                let _ = writeln!(out, "{name}{{part=\"{part}\"}} {value}");
            }
        }
    }
}

/// The doors before the listeners, which count what they refuse.
pub(super) struct Doors {
    pub clients: Arc<Door>,
    pub agents: Arc<Door>,
    pub health: Arc<Door>,
}

impl Doors {
    fn all(&self) -> [&Door; 3] {
        [&self.clients, &self.agents, &self.health]
    }

    /// Refusals of all doors for these reasons.
    fn refused(&self, reasons: &[Reason]) -> u64 {
        self.all().iter().map(|door| refused(door, reasons)).sum()
    }
}

/// Refusals of a door for these reasons.
fn refused(door: &Door, reasons: &[Reason]) -> u64 {
    reasons.iter().map(|reason| door.refusals().count(*reason)).sum()
}

/// What the decision thread has measured, as of its last decision.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    pub epoch: u64,
    /// Seconds for which the decision thread has been at work without a pause.
    pub turn_s: f64,
    pub counts: Counts,
    pub population: Population,
    pub pending: usize,
    pub commands: usize,
    pub oldest_unapplied_s: f64,
    /// Seconds until agents have applied a schedule, in the mean.
    pub decision_s: f64,
    pub confidence: Option<Confidence>,
    pub journal_bytes: u64,
    pub journal_failures: u64,
    pub plan_errors: u64,
    /// How many times larger than declared the flows of each tenant are taken to be.
    pub size_factors: BTreeMap<String, f64>,
    /// What tokens have: of coflows that are present, and how many that have gone and keys of those
    /// are remembered.
    pub holdings: BTreeMap<String, (Held, usize, usize)>,
    /// When all agents were looked at, in seconds from the start.
    pub looked_s: f64,
}

/// Times and intervals that the decision thread measures.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// CPU of a decision.
    pub decide: Histogram,
    /// CPU of making the schedules after it.
    pub push: Histogram,
    /// CPU of taking in a batch of messages.
    pub receive: Histogram,
    /// Time of a synchronisation of the journal with the disk.
    pub sync: Histogram,
    pub intervals: Intervals,
    /// CPU of the decision thread.
    cpu_s: f64,
}

impl Measured {
    pub fn new(interval_s: f64) -> Measured {
        Measured {
            decide: Histogram::default(),
            push: Histogram::default(),
            receive: Histogram::default(),
            sync: Histogram::default(),
            intervals: Intervals::new(interval_s),
            cpu_s: 0.0,
        }
    }

    /// A turn of the decision loop is over.
    pub fn turn(&mut self, now_s: f64, used: Used, decided: bool, reporting: &mut Vec<SessionId>) {
        if decided {
            self.decide.add(used.calculate_s);
        }
        if used.flushed {
            self.push.add(used.send_s);
        }
        self.receive.add(used.receive_s);
        self.intervals.add(now_s, used, reporting);
        self.cpu_s += used.total_s();
    }
}

/// What comes before the values of a metric.
pub(super) fn head(name: &str, help: &str, kind: &str, out: &mut String) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one(name: &str, help: &str, kind: &str, value: impl Display, out: &mut String) {
    head(name, help, kind, out);
    let _ = writeln!(out, "{name} {value}");
}

/// The program that runs, as a metric whose value is always 1.
fn build_info(out: &mut String) {
    let name = "covey_build_info";
    head(name, "The version of the program.", "gauge", out);
    let _ = writeln!(out, "{name}{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
}

/// What tokens have. There is nobody else, so that clients cannot make the number of series grow.
fn write_holdings(holdings: &BTreeMap<String, (Held, usize, usize)>, out: &mut String) {
    type Count = fn(&(Held, usize, usize)) -> usize;
    let all: [(&str, &str, Count); 4] = [
        ("covey_token_coflows", "Coflows that are present, by token.", |it| it.0.coflows),
        ("covey_token_flows", "Flows of these, by token.", |it| it.0.flows),
        ("covey_token_gone", "Coflows that are remembered after they have gone, by token.", |it| {
            it.1
        }),
        ("covey_token_keys", "Idempotency keys that are remembered, by token.", |it| {
            it.0.keys + it.2
        }),
    ];
    for (name, help, count) in all {
        head(name, help, "gauge", out);
        for (token, held) in holdings {
            let _ = writeln!(out, "{name}{{token=\"{token}\"}} {}", count(held));
        }
    }
}

/// All of it as text. `relays` is how many relays have joined, and how many agents have through
/// them.
pub(super) fn text(
    now: &Snapshot,
    measured: &Measured,
    doors: &Doors,
    (relays, relayed): (usize, usize),
    audit_failures: u64,
) -> String {
    let mut out = String::new();
    build_info(&mut out);
    let counts = now.counts;
    let Population { coflows, stalled, idle, expired, unused, agents, announced } = now.population;
    let credentials = [Reason::Handshake, Reason::Credential, Reason::Version, Reason::Order];
    let connections = [Reason::Full, Reason::PeerQuota, Reason::Displaced];
    let counters = [
        ("covey_decisions_total", "Decisions.", counts.decisions),
        ("covey_replans_total", "Decisions in which the policy made a new plan.", counts.replanned),
        (
            "covey_coflows_looked_at_total",
            "Coflows that were looked at for decisions and for what agents are told of them.",
            counts.looked_at,
        ),
        ("covey_schedules_sent_total", "Schedules sent to agents.", counts.schedules),
        ("covey_schedule_entries_total", "Flows named in them.", counts.entries),
        ("covey_messages_ended_total", "Messages with ends of flows.", counts.ends),
        ("covey_messages_sent_total", "Messages with bytes sent.", counts.reports),
        ("covey_messages_applied_total", "Messages that a schedule is applied.", counts.applied),
        ("covey_messages_other_total", "Other messages of agents.", counts.others),
        (
            "covey_refused_epochs_total",
            "Agents refused because they know of a later epoch.",
            counts.epochs_ahead,
        ),
        (
            "covey_refused_reports_total",
            "Flows in reports of agents whose coflows are not known: of another life of the journal, or forgotten.",
            counts.unknown,
        ),
        (
            "covey_refused_keeps_total",
            "Coflows that agents would have kept, and that have no flow at their ports.",
            counts.strange_keeps,
        ),
        (
            "covey_flows_refused_total",
            "Connections that hosts refused, because their proofs did not show that they are a flow's.",
            counts.flows_refused,
        ),
        (
            "covey_flows_unproven_total",
            "Flows that hosts took without a proof.",
            counts.flows_unproven,
        ),
        (
            "covey_rates_passed_total",
            "Rates that agents passed on from a flow that had ended to the next, between two schedules.",
            counts.passed,
        ),
        ("covey_coflows_registered_total", "Coflows registered.", counts.registered),
        ("covey_coflows_gone_total", "Coflows ended or deregistered.", counts.gone),
        (
            "covey_journal_failures_total",
            "Groups of records that could not be written.",
            now.journal_failures,
        ),
        (
            "covey_audit_failures_total",
            "Lines of the audit log that could not be written.",
            audit_failures,
        ),
        ("covey_plan_errors_total", "Plans that could not be carried out.", now.plan_errors),
        (
            "covey_refused_credentials_total",
            "Agents refused for their credential.",
            refused(&doors.agents, &credentials),
        ),
        (
            "covey_refused_connections_total",
            "Connections above the limit.",
            doors.refused(&connections),
        ),
        (
            "covey_refused_garbage_total",
            "Sessions ended for bytes that are no message.",
            doors.refused(&[Reason::Garbage]),
        ),
        (
            "covey_refused_tokens_total",
            "Requests refused for their token.",
            refused(&doors.clients, &[Reason::Credential])
                + refused(&doors.health, &[Reason::Credential]),
        ),
        ("covey_refused_rate_total", "Requests above the rate.", doors.refused(&[Reason::Rate])),
    ];
    for (name, help, value) in counters {
        one(name, help, "counter", value, &mut out);
    }
    write_holdings(&now.holdings, &mut out);
    let name = "covey_tenant_size_factor";
    let help = "How many times larger than declared the flows of a tenant are taken to be.";
    head(name, help, "gauge", &mut out);
    for (tenant, factor) in &now.size_factors {
        let _ = writeln!(out, "{name}{{tenant=\"{tenant}\"}} {factor}");
    }
    let name = "covey_flows_opened_wrongly_total";
    head(
        name,
        "Flows that applications opened otherwise than they are registered.",
        "counter",
        &mut out,
    );
    for (error, count) in OpeningError::ALL.iter().zip(counts.opened_wrongly) {
        let _ = writeln!(out, "{name}{{reason=\"{}\"}} {count}", error.name());
    }
    let name = "covey_flows_other_bytes_total";
    head(name, "Flows that ended with other bytes than are registered.", "counter", &mut out);
    for (than, count) in ["fewer", "more"].iter().zip(counts.other_bytes) {
        let _ = writeln!(out, "{name}{{bytes=\"{than}\"}} {count}");
    }
    let gauges = [
        ("covey_epoch", "Number of this start.", now.epoch as f64),
        ("covey_turn_seconds", "Time for which the decision thread has been at work.", now.turn_s),
        ("covey_coflows", "Coflows present.", coflows as f64),
        ("covey_coflows_stalled", "Coflows with a flow whose host is away.", stalled as f64),
        (
            "covey_coflows_idle",
            "Coflows with a flow that does not use what it is given.",
            idle as f64,
        ),
        ("covey_coflows_expired", "Coflows that nobody keeps.", expired as f64),
        (
            "covey_flows_unnamed",
            "Flows that agents have reported and no application has named.",
            announced as f64,
        ),
        ("covey_agents", "Agents that have joined.", agents as f64),
        ("covey_agents_relayed", "Agents that have joined through relays.", relayed as f64),
        ("covey_relays", "Relays that have joined.", relays as f64),
        ("covey_pending", "Changes that wait for the journal.", now.pending as f64),
        ("covey_commands", "Messages that wait for the decision thread.", now.commands as f64),
        (
            "covey_schedule_age_seconds",
            "Age of the oldest schedule sent and not applied.",
            now.oldest_unapplied_s,
        ),
        (
            "covey_decision_seconds",
            "Time until agents have applied a schedule, a mean that follows slowly.",
            now.decision_s,
        ),
        ("covey_journal_bytes", "Length of the journal.", now.journal_bytes as f64),
    ];
    for (name, help, value) in gauges {
        one(name, help, "gauge", value, &mut out);
    }
    if let Some(Confidence { value, least }) = now.confidence {
        for (name, help, value) in [
            ("covey_confidence", "How far coflows can be told apart, from 0 to 1.", value),
            ("covey_confidence_least", "With less confidence no flow is held or paced.", least),
        ] {
            one(name, help, "gauge", value, &mut out);
        }
    }
    let name = "covey_flows_idle";
    head(name, "Flows that do not use what they are given.", "gauge", &mut out);
    for (why, count) in Unused::ALL.iter().zip(unused) {
        let _ = writeln!(out, "{name}{{why=\"{}\"}} {count}", why.name());
    }
    write_doors(&doors.all(), &mut out);
    let (cpu_s, resident) = process();
    one("process_cpu_seconds_total", "CPU of the process.", "counter", cpu_s, &mut out);
    one("process_resident_memory_bytes", "Resident memory.", "gauge", resident, &mut out);
    let times = [
        ("covey_decide_cpu_seconds", "CPU of a decision.", &measured.decide),
        (
            "covey_push_cpu_seconds",
            "CPU of making and handing over the schedules of a decision.",
            &measured.push,
        ),
        ("covey_receive_cpu_seconds", "CPU of taking over a batch of messages.", &measured.receive),
        (
            "covey_journal_sync_seconds",
            "Time of a synchronisation of the journal with the disk.",
            &measured.sync,
        ),
    ];
    for (name, help, histogram) in times {
        head(name, help, "histogram", &mut out);
        histogram.write(name, "", &mut out);
    }
    measured.intervals.write(&mut out);
    let cpu_s = measured.cpu_s;
    one(
        "covey_decision_thread_cpu_seconds_total",
        "CPU of the decision thread.",
        "counter",
        cpu_s,
        &mut out,
    );
    out
}

/// CPU in seconds and resident memory in bytes of this process; NaN where the system does not tell.
fn process() -> (f64, f64) {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
    let resident = pages.map_or(f64::NAN, |pages| pages * rustix::param::page_size() as f64);
    (time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9, resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_without_work_count_too() {
        let mut intervals = Intervals::new(0.1);
        let used = Used { calculate_s: 0.2, flushed: true, ..Used::default() };
        intervals.add(0.05, used, &mut vec![7, 8, 7]);
        intervals.add(0.55, Used::default(), &mut vec![7]);
        assert_eq!(intervals.reported, 2);
        assert_eq!((intervals.gone, intervals.missed, intervals.unflushed), (5, 1, 4));
        assert_eq!(intervals.sums, [0.2, 0.0, 0.0, 0.2]);
    }
}
