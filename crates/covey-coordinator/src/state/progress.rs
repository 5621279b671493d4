//! What coflows have sent: telling the policy that bytes it waits for have been sent, and telling
//! agents how often to report so that this is known in time.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::{CoflowId, Fabric, LinkId, PortId, Sender, Wake};

use super::awaited_bytes::Touched;
use super::coflows::Coflow;
use super::coordinator::CoordinatorState;
use super::memory::Dag;
use super::sizes::unknown_left;

impl CoordinatorState {
    /// Notes the coflows and DAGs whose bytes the policy has begun to wait for: they may have been
    /// sent.
    pub(super) fn note_new_waits(&mut self) {
        let CoordinatorState { driver, coflows, awaited_bytes, .. } = self;
        for sender in driver.take_fresh() {
            match sender {
                Sender::Coflow(id) => awaited_bytes.note_coflow(coflows.serial(id)),
                Sender::Dag(dag) => awaited_bytes.note_dag(dag),
                // Agents do not report by link.
                Sender::CoflowAt(..) => {}
            }
        }
    }

    /// There is news of the bytes or flows of a coflow.
    pub(super) fn note_bytes(&mut self, serial: u64) {
        if let Some(coflow) = self.coflows.get(serial) {
            self.awaited_bytes.note(serial, coflow.about.lineage.external);
        }
    }

    /// Tells the policy of numbers of bytes that it waits for and that have been reported.
    pub(super) fn tell_reached(&mut self) {
        let touched = self.awaited_bytes.take_unreached();
        if touched.is_empty() {
            return;
        }
        self.effects.counts.looked_at += touched.coflows.len() as u64;
        let coflows = touched.coflows.iter().filter_map(|serial| self.coflows.get(*serial));
        let coflows = coflows.map(|coflow| Sender::Coflow(coflow.id));
        let senders = coflows.chain(touched.dags.into_iter().map(Sender::Dag));
        for wake in self.driver.wakes().of_all(senders) {
            if self.missing(wake).is_some_and(|missing| missing <= 0.0) {
                if let Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) = wake
                    && let Some(coflow) = self.coflows.of(id)
                {
                    self.driver.report(id, coflow.flows.attained(), self.now);
                }
                self.driver.reached(wake, self.now);
                self.dirty.note_event();
                // The bytes that the policy waits for next may have been sent, too.
                let coflows = wake.sender().map(|sender| self.coflows_of(sender));
                coflows.iter().flatten().for_each(|&serial| self.note_bytes(serial));
            }
        }
        self.tell_thresholds();
    }

    /// A DAG, as the policy numbers it.
    fn dag(&self, external: u64) -> Option<&Dag> {
        self.coflows.dags(!self.driver.sees_coflows()).get(external)
    }

    /// The coflows whose bytes count.
    fn coflows_of(&self, sender: Sender) -> Vec<u64> {
        match sender {
            Sender::Coflow(id) | Sender::CoflowAt(id, _) => vec![self.coflows.serial(id)],
            Sender::Dag(dag) => {
                let dag = self.dag(dag);
                dag.map_or_else(Vec::new, |dag| dag.present.iter().copied().collect())
            }
        }
    }

    /// How many of the bytes that a wake-up waits for are missing, as reported. `None` for times,
    /// and where nobody can send them.
    pub(super) fn missing(&self, wake: Wake) -> Option<f64> {
        let of = |id: CoflowId| Some(&self.coflows.get(self.coflows.serial(id))?.flows);
        match wake {
            // Agents do not report by link.
            Wake::At(_) | Wake::WhenPassed(..) => None,
            Wake::WhenSent(id, bytes) => Some(bytes - of(id)?.attained()),
            Wake::WhenFlowSent(id, bytes) => Some(bytes - of(id)?.longest()),
            Wake::WhenDagSent(external, bytes) => {
                // The DAG may have gone, and be forgotten.
                let Some(dag) = self.dag(external) else { return Some(bytes) };
                let attained = |serial: &u64| Some(self.coflows.get(*serial)?.flows.attained());
                let sent = dag.bytes + dag.present.iter().filter_map(attained).sum::<f64>();
                Some(bytes - sent)
            }
        }
    }

    fn tell_thresholds(&mut self) {
        if self.driver.link_thresholds().is_empty() {
            return;
        }
        let limits = self.driver.link_thresholds().to_vec();
        let mut reached = Vec::new();
        for &serial in self.dirty.progress() {
            let Some(coflow) = self.coflows.get(serial) else { continue };
            for (link, bytes) in sent_at_links(coflow, self.driver.state().fabric()) {
                let new = self.awaited_bytes.reach(serial, link, bytes, &limits);
                reached.extend(new.iter().map(|limit| (coflow.id, link, *limit)));
            }
        }
        for (id, link, limit) in reached {
            self.driver.limit_reached(id, link, limit, self.now);
            self.dirty.note_event();
        }
    }

    /// Tells agents how often to report what coflows have sent, where the policy waits for that.
    ///
    /// While the missing bytes exceed what all agents together may have sent without a report, they
    /// cannot have been reached. So each agent may send its part of them; the parts shrink with
    /// what is missing, down to a hundredth of what is waited for.
    pub(super) fn set_report_thresholds(&mut self) {
        // A new plan may wait for other bytes of coflows that are reported.
        let Touched { mut coflows, dags } =
            self.awaited_bytes.take_unset(self.driver.plan_was_rewritten());
        for dag in dags.into_iter().map(Sender::Dag) {
            if self.driver.wakes().of(dag).next().is_some() {
                coflows.extend(self.coflows_of(dag));
            }
        }
        self.effects.counts.looked_at += coflows.len() as u64;
        let mut of_dags: BTreeMap<u64, f64> = BTreeMap::new();
        for serial in coflows {
            let coflow = self.coflows.get(serial).filter(|coflow| !coflow.flows.is_own());
            // Agents report flows of groups at an interval: they do not know the groups.
            let Some(coflow) = coflow else { continue };
            let dag = coflow.about.lineage.external;
            let of_dag = of_dags.entry(dag).or_insert_with(|| self.threshold_for(Sender::Dag(dag)));
            let threshold = self.threshold_for(Sender::Coflow(coflow.id)).min(*of_dag);
            let threshold = threshold.min(self.threshold_for_limits(serial, coflow));
            self.set_report_threshold(serial, threshold);
        }
    }

    /// The report threshold for what the policy waits for of a coflow or a DAG; infinite if that is
    /// nothing.
    fn threshold_for(&self, sender: Sender) -> f64 {
        let mut wakes = self.driver.wakes().of(sender).peekable();
        if wakes.peek().is_none() {
            return f64::INFINITY;
        }
        let coflows = self.coflows_of(sender).into_iter();
        let agents = coflows.map(|serial| self.senders(serial).len()).sum();
        let thresholds =
            wakes.filter_map(|wake| Some(threshold(self.missing(wake)?, wake.bytes()?, agents)));
        thresholds.fold(f64::INFINITY, f64::min)
    }

    /// The same for the limits of what a coflow sends through a link.
    fn threshold_for_limits(&self, serial: u64, coflow: &Coflow) -> f64 {
        let limits = self.driver.link_thresholds();
        let Some(&first) = limits.first() else { return f64::INFINITY };
        let agents = coflow.flows.senders().len();
        let of_none = if coflow.flows.attained() == 0.0 {
            threshold(first, first, agents)
        } else {
            f64::INFINITY
        };
        let sent = sent_at_links(coflow, self.driver.state().fabric());
        let thresholds = sent.into_iter().filter_map(|(link, bytes)| {
            let limit = limits.get(self.awaited_bytes.thresholds_reached(serial, link))?;
            Some(threshold(limit - bytes, *limit, agents))
        });
        thresholds.fold(of_none, f64::min)
    }

    fn set_report_threshold(&mut self, serial: u64, threshold: f64) {
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        let before = coflow.report_threshold;
        // A threshold that is a little too low only makes a report more.
        if threshold == before || (threshold > before && threshold < 2.0 * before) {
            return;
        }
        coflow.report_threshold = threshold;
        self.awaited_bytes.set_threshold(serial, threshold);
        for port in coflow.flows.senders() {
            let agent = self.agents.get_mut(port);
            // An agent without a session is told all thresholds of its port when it joins.
            if agent.connection.session.is_some() {
                agent.letters.thresholds.insert(serial, threshold);
                self.agents.wake(port);
            }
        }
        // What is left until it is behind its layer has changed, too.
        self.turn_changed(serial);
    }

    /// Ports with unfinished flows of a coflow that they send.
    fn senders(&self, serial: u64) -> BTreeSet<u32> {
        self.coflows.get(serial).map_or_else(BTreeSet::new, |coflow| coflow.flows.senders())
    }

    /// Tells policies that read it what is left of flows.
    pub(super) fn write_progress(&mut self) {
        let (reads_flows, sees_sizes) = (self.driver.reads_flows(), self.driver.needs_sizes());
        for serial in self.dirty.take_progress() {
            // The coflow may have gone meanwhile.
            let Some(coflow) = self.coflows.get_mut(serial) else { continue };
            coflow.is_stale = false;
            if !reads_flows {
                continue;
            }
            let (demand, progress) = self.driver.progress_mut(coflow.id);
            for p in demand.active() {
                let flow = coflow.flows.get(demand.index(p));
                let sent = flow.map_or(0.0, |flow| flow.sent);
                let declared = flow.and_then(|flow| flow.bytes);
                if let Some(left) = unknown_left(declared, sent).filter(|_| sees_sizes) {
                    progress.size[p] = progress.size[p].max(sent + left);
                }
                // Something is left of a flow whose end has not been reported.
                let left = (progress.size[p] - sent).max(1.0_f64.min(progress.size[p]));
                progress.left[p] = left / progress.scale;
            }
            progress.add_up_links(demand);
        }
    }
}

/// The part of the `missing` bytes of a `goal` that each of so many agents may send without a
/// report.
fn threshold(missing: f64, goal: f64, agents: usize) -> f64 {
    missing.max(goal / 100.0) / agents.max(1) as f64
}

/// What a coflow has sent through each link it uses, as reported.
fn sent_at_links(coflow: &Coflow, fabric: &Fabric) -> BTreeMap<LinkId, f64> {
    let mut sent = BTreeMap::new();
    for (_, flow) in coflow.flows.iter() {
        for link in [fabric.egress(PortId(flow.src)), fabric.ingress(PortId(flow.dst))] {
            *sent.entry(link).or_default() += flow.wire;
        }
    }
    sent
}
