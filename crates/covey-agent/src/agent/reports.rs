//! What flows have sent, and when the coordinator is told.

use std::collections::{BTreeMap, BTreeSet};

use covey_proto::{FlowName, ReportThreshold, Sent};

/// Totals of the flows that have not ended, and what is left to report of them.
///
/// The coordinator asks for reports at an interval, and for a report of a coflow as soon as the
/// coflow has sent as much as its *report threshold* since the last one.
#[derive(Debug, Default)]
pub struct Reports {
    sent: BTreeMap<FlowName, Sent>,
    /// Flows that have sent something since they were last reported.
    unreported: BTreeSet<FlowName>,
    /// Report threshold of coflows, in bytes on the wire.
    thresholds: BTreeMap<u64, f64>,
    /// What each coflow with a threshold has sent since its last report, in bytes on the wire.
    since_report: BTreeMap<u64, f64>,
    /// When the next report at the interval is due.
    next_s: f64,
}

impl Reports {
    /// A flow has sent so much in total. Returns the bytes of the flow and the bytes on the wire
    /// that are new.
    pub fn sent(&mut self, sent: Sent) -> (f64, f64) {
        let before = self.sent.insert(sent.key, sent);
        let (bytes, wire) = new_bytes(before, sent.bytes, sent.wire);
        self.unreported.insert(sent.key);
        let coflow = sent.key.coflow().filter(|coflow| self.thresholds.contains_key(coflow));
        if let Some(coflow) = coflow {
            *self.since_report.entry(coflow).or_default() += wire;
        }
        (bytes, wire)
    }

    /// A flow has ended with these totals. Returns what is new, as [`Reports::sent`] does.
    pub fn ended(&mut self, key: FlowName, bytes: f64, wire: f64) -> (f64, f64) {
        self.unreported.remove(&key);
        new_bytes(self.sent.remove(&key), bytes, wire)
    }

    /// A flow has changed its coflow. The bytes that it has sent do not count towards its new
    /// coflow's threshold.
    pub fn rename(&mut self, from: FlowName, to: FlowName) {
        if let Some(sent) = self.sent.remove(&from) {
            self.sent.insert(to, Sent { key: to, ..sent });
        }
        if self.unreported.remove(&from) {
            self.unreported.insert(to);
        }
    }

    /// A coflow is over although some of its flows have not ended here.
    pub fn forget(&mut self, coflow: u64) {
        let keys: Vec<FlowName> =
            self.sent.range(FlowName::all_of(coflow)).map(|(key, _)| *key).collect();
        for key in keys {
            self.sent.remove(&key);
            self.unreported.remove(&key);
        }
        self.since_report.remove(&coflow);
    }

    /// Sets report thresholds. An infinite one removes the coflow's.
    pub fn set_thresholds(&mut self, thresholds: Vec<ReportThreshold>) {
        for ReportThreshold { coflow, bytes } in thresholds {
            if bytes.is_finite() {
                self.thresholds.insert(coflow, bytes);
            } else {
                self.thresholds.remove(&coflow);
                self.since_report.remove(&coflow);
            }
        }
    }

    /// A session has begun: the coordinator may know nothing, so everything is reported again.
    pub fn restart(&mut self) {
        self.next_s = 0.0;
        self.unreported = self.sent.keys().copied().collect();
    }

    /// The session is over, and the thresholds that its coordinator has set with it.
    pub fn disconnected(&mut self) {
        self.thresholds.clear();
        self.since_report.clear();
    }

    /// Takes what is due at `now_s`: a list for each coflow that has reached its threshold, and one
    /// for the interval `every_s` (0: there is none).
    pub fn take_due(&mut self, now_s: f64, every_s: f64) -> Vec<Vec<Sent>> {
        let mut reached: Vec<u64> = Vec::new();
        for (&coflow, since) in &mut self.since_report {
            if self.thresholds.get(&coflow).is_some_and(|threshold| *since >= *threshold) {
                *since = 0.0;
                reached.push(coflow);
            }
        }
        let mut due = Vec::new();
        for coflow in reached {
            let keys: BTreeSet<FlowName> =
                self.unreported.range(FlowName::all_of(coflow)).copied().collect();
            self.unreported.retain(|name| name.coflow() != Some(coflow));
            due.push(self.totals(&keys));
        }
        if every_s > 0.0 && now_s >= self.next_s {
            self.next_s = now_s + every_s;
            let keys = std::mem::take(&mut self.unreported);
            due.push(self.totals(&keys));
        }
        due
    }

    fn totals(&self, keys: &BTreeSet<FlowName>) -> Vec<Sent> {
        keys.iter().filter_map(|key| self.sent.get(key).copied()).collect()
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.unreported.is_empty()
    }
}

fn new_bytes(before: Option<Sent>, bytes: f64, wire: f64) -> (f64, f64) {
    let (bytes_before, wire_before) = before.map_or((0.0, 0.0), |sent| (sent.bytes, sent.wire));
    (bytes - bytes_before, wire - wire_before)
}
