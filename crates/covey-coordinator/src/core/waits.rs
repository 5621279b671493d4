//! Numbers of bytes that the policy waits for: that they have been sent, and how often agents are to report so that
//! this is known in time.
//!
//! Only those are looked at of which bytes or flows have been told since the last look, or for which the policy has
//! begun to wait: what a report costs does not depend on the coflows that are present.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::{CoflowId, LinkId, Sender, Wake};

use super::Core;
use crate::coflows::{Coflow, Stage};

/// Coflows and DAGs, by their numbers.
#[derive(Debug, Default)]
struct Touched {
    coflows: BTreeSet<u64>,
    dags: BTreeSet<u64>,
}

/// Those present of which something has changed that says what is missing of the bytes waited for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since it was last looked whether these have been sent.
    unreached: Touched,
    /// Since agents were last told how often to report.
    ungrained: Touched,
}

impl Waits {
    fn both(&mut self) -> impl Iterator<Item = &mut Touched> {
        [&mut self.unreached, &mut self.ungrained].into_iter()
    }

    /// Bytes or flows of a coflow have been told: it counts for itself and for its DAG.
    pub fn note(&mut self, serial: u64, dag: u64) {
        self.note_coflow(serial);
        self.note_dag(dag);
    }

    fn note_coflow(&mut self, serial: u64) {
        self.both().for_each(|touched| _ = touched.coflows.insert(serial));
    }

    fn note_dag(&mut self, dag: u64) {
        self.both().for_each(|touched| _ = touched.dags.insert(dag));
    }

    /// A coflow has gone. Whether others of its DAG are there.
    pub fn retire(&mut self, serial: u64, dag: u64, has_others: bool) {
        self.note_dag(dag);
        for touched in self.both() {
            touched.coflows.remove(&serial);
            if !has_others {
                touched.dags.remove(&dag);
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let of = |touched: &Touched| touched.coflows.len() + touched.dags.len();
        of(&self.unreached) + of(&self.ungrained)
    }
}

impl Core {
    /// Notes for whose bytes the policy has begun to wait: they may have been sent.
    pub(super) fn note_fresh(&mut self) {
        let Core { driver, coflows, waits, .. } = self;
        for sender in driver.take_fresh() {
            match sender {
                Sender::Coflow(id) => waits.note_coflow(coflows.serial(id)),
                Sender::Dag(dag) => waits.note_dag(dag),
            }
        }
    }

    /// Bytes or flows of a coflow have been told.
    pub(super) fn note(&mut self, serial: u64) {
        if let Some(coflow) = self.coflows.present.get(&serial) {
            self.waits.note(serial, coflow.lineage.external);
        }
    }

    /// Tells the policy of numbers of bytes that it waits for and that have been reported.
    pub(super) fn tell_reached(&mut self) {
        let Touched { coflows, dags } = std::mem::take(&mut self.waits.unreached);
        if coflows.is_empty() && dags.is_empty() {
            return;
        }
        self.counts.looked_at += coflows.len() as u64;
        let coflows = coflows.iter().filter_map(|serial| self.coflows.present.get(serial));
        let coflows = coflows.map(|coflow| Sender::Coflow(coflow.id));
        let senders = coflows.chain(dags.into_iter().map(Sender::Dag));
        for wake in self.driver.wakes().of_all(senders) {
            if self.missing(wake).is_some_and(|missing| missing <= 0.0) {
                if let Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) = wake
                    && let Some(coflow) = self.coflows.of(id)
                {
                    self.driver.report(id, coflow.attained, self.now);
                }
                self.driver.reached(wake, self.now);
                self.stirred = true;
                // What the policy waits for next may have come, too.
                let coflows = wake.sender().map(|sender| self.coflows_of(sender));
                coflows.iter().flatten().for_each(|&serial| self.note(serial));
            }
        }
        self.tell_limits();
    }

    /// The coflows whose bytes count.
    fn coflows_of(&self, sender: Sender) -> Vec<u64> {
        match sender {
            Sender::Coflow(id) => vec![self.coflows.serial(id)],
            Sender::Dag(dag) => {
                let dag = self.coflows.dags.get(&dag);
                dag.map_or_else(Vec::new, |dag| dag.present.iter().copied().collect())
            }
        }
    }

    /// How many bytes are missing of what a wake-up waits for, as reported. `None` for times, and where nobody can
    /// send them.
    fn missing(&self, wake: Wake) -> Option<f64> {
        let of = |id: CoflowId| self.coflows.present.get(&self.coflows.serial(id));
        match wake {
            Wake::At(_) => None,
            Wake::WhenSent(id, bytes) => Some(bytes - of(id)?.attained),
            Wake::WhenFlowSent(id, bytes) => Some(bytes - of(id)?.longest),
            Wake::WhenDagSent(external, bytes) => {
                // It may have gone, and be forgotten.
                let dag = self.coflows.dags.get(&external);
                let Some(dag) = dag else { return Some(bytes) };
                let attained = |serial| self.coflows.present.get(serial).map(|it| it.attained);
                let sent = dag.bytes + dag.present.iter().filter_map(attained).sum::<f64>();
                Some(bytes - sent)
            }
        }
    }

    fn tell_limits(&mut self) {
        if self.driver.link_limits().is_empty() {
            return;
        }
        let limits = self.driver.link_limits().to_vec();
        let ports = self.agents.len() as u32;
        let mut told = Vec::new();
        for &serial in &self.coflows.stale {
            let Some(coflow) = self.coflows.present.get(&serial) else { continue };
            for (link, bytes) in sent_at_links(coflow, ports) {
                let reached = self.limits_reached.entry((serial, link)).or_default();
                while limits.get(*reached).is_some_and(|limit| bytes >= *limit) {
                    told.push((coflow.id, link, limits[*reached]));
                    *reached += 1;
                }
            }
        }
        for (id, link, limit) in told {
            self.driver.limit_reached(id, link, limit, self.now);
            self.stirred = true;
        }
    }

    /// Tells agents how often to report what coflows have sent, where the policy waits for that.
    ///
    /// While what is missing exceeds what all agents together may have sent without a word, it cannot
    /// have been reached. So each may send its part of what is missing; the parts shrink with what
    /// is missing, down to a hundredth of what is waited for.
    pub(super) fn set_grains(&mut self) {
        let Touched { mut coflows, dags } = std::mem::take(&mut self.waits.ungrained);
        if self.driver.planned_anew() {
            // The policy may have waited for them.
            coflows.extend(&self.coflows.grained);
        }
        for dag in dags.into_iter().map(Sender::Dag) {
            if self.driver.wakes().of(dag).next().is_some() {
                coflows.extend(self.coflows_of(dag));
            }
        }
        self.counts.looked_at += coflows.len() as u64;
        let mut of_dags: BTreeMap<u64, f64> = BTreeMap::new();
        for serial in coflows {
            let Some(coflow) = self.coflows.present.get(&serial) else { continue };
            let dag = coflow.lineage.external;
            let of_dag = of_dags.entry(dag).or_insert_with(|| self.grain_for(Sender::Dag(dag)));
            let grain = self.grain_for(Sender::Coflow(coflow.id)).min(*of_dag);
            self.set_grain(serial, grain.min(self.grain_for_limits(serial, coflow)));
        }
    }

    /// How often agents are to report what the policy waits for of a coflow or a DAG; infinite if that is nothing.
    fn grain_for(&self, sender: Sender) -> f64 {
        let mut wakes = self.driver.wakes().of(sender).peekable();
        if wakes.peek().is_none() {
            return f64::INFINITY;
        }
        let coflows = self.coflows_of(sender).into_iter();
        let agents = coflows.map(|serial| self.senders(serial).len()).sum();
        let grains =
            wakes.filter_map(|wake| Some(grain(self.missing(wake)?, wake.bytes()?, agents)));
        grains.fold(f64::INFINITY, f64::min)
    }

    /// The same for the limits of what a coflow sends through a link.
    fn grain_for_limits(&self, serial: u64, coflow: &Coflow) -> f64 {
        let limits = self.driver.link_limits();
        let Some(&first) = limits.first() else { return f64::INFINITY };
        let agents = self.senders(serial).len();
        let of_none =
            if coflow.attained == 0.0 { grain(first, first, agents) } else { f64::INFINITY };
        let sent = sent_at_links(coflow, self.agents.len() as u32);
        let grains = sent.into_iter().filter_map(|(link, bytes)| {
            let reached = self.limits_reached.get(&(serial, link)).copied().unwrap_or(0);
            limits.get(reached).map(|limit| grain(limit - bytes, *limit, agents))
        });
        grains.fold(of_none, f64::min)
    }

    fn set_grain(&mut self, serial: u64, grain: f64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        // A grain that is a little too fine only makes a report more.
        if grain == coflow.grain || (grain > coflow.grain && grain < 2.0 * coflow.grain) {
            return;
        }
        coflow.grain = grain;
        if grain.is_finite() {
            self.coflows.grained.insert(serial);
        } else {
            self.coflows.grained.remove(&serial);
        }
        for port in self.senders(serial) {
            let agent = &mut self.agents[port as usize];
            // An agent that joins is told the grains of all coflows of its port then.
            if agent.session.is_some() {
                agent.grains.insert(serial, grain);
                self.woken.insert(port);
            }
        }
    }

    /// Ports with unfinished flows of a coflow.
    fn senders(&self, serial: u64) -> BTreeSet<u32> {
        let Some(coflow) = self.coflows.present.get(&serial) else { return BTreeSet::new() };
        let unfinished = coflow.flows.iter().filter(|flow| flow.stage != Stage::Ended);
        unfinished.map(|flow| flow.src).collect()
    }
}

/// The part of what is `missing` of a `goal` that each of so many agents may send without a word.
fn grain(missing: f64, goal: f64, agents: usize) -> f64 {
    missing.max(goal / 100.0) / agents.max(1) as f64
}

/// What a coflow has sent through each port it uses, as reported.
fn sent_at_links(coflow: &Coflow, ports: u32) -> BTreeMap<LinkId, f64> {
    let mut sent = BTreeMap::new();
    for flow in &coflow.flows {
        for link in [LinkId(flow.src), LinkId(ports + flow.dst)] {
            *sent.entry(link).or_default() += flow.wire;
        }
    }
    sent
}
