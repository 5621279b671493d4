//! Numbers of bytes that the policy waits for: which coflows and DAGs have to be looked at for
//! them.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::LinkId;

/// Coflows and DAGs, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub coflows: BTreeSet<u64>,
    pub dags: BTreeSet<u64>,
}

impl Touched {
    pub fn is_empty(&self) -> bool {
        self.coflows.is_empty() && self.dags.is_empty()
    }
}

/// Coflows and DAGs of which something has changed that says what is missing of the bytes waited
/// for, and what has been reached. The cost of a report does not depend on the coflows that are
/// present.
#[derive(Debug, Default)]
pub(super) struct AwaitedBytes {
    /// Changed since the last look whether they have sent the bytes.
    unreached: Touched,
    /// Changed since agents were last told their report thresholds.
    unset: Touched,
    /// Coflows with a finite report threshold.
    reporting: BTreeSet<u64>,
    /// By coflow and link, how many of the policy's limits have been reached.
    thresholds_reached: BTreeMap<(u64, LinkId), usize>,
}

impl AwaitedBytes {
    fn both(&mut self) -> [&mut Touched; 2] {
        [&mut self.unreached, &mut self.unset]
    }

    /// Bytes or flows of a coflow are news for itself and for its DAG.
    pub fn note(&mut self, serial: u64, dag: u64) {
        self.note_coflow(serial);
        self.note_dag(dag);
    }

    pub fn note_coflow(&mut self, serial: u64) {
        self.both().into_iter().for_each(|touched| _ = touched.coflows.insert(serial));
    }

    pub fn note_dag(&mut self, dag: u64) {
        self.both().into_iter().for_each(|touched| _ = touched.dags.insert(dag));
    }

    /// A coflow has gone; `has_others`: other coflows of its DAG are present.
    pub fn retire(&mut self, serial: u64, dag: u64, has_others: bool) {
        self.note_dag(dag);
        for touched in self.both() {
            touched.coflows.remove(&serial);
            if !has_others {
                touched.dags.remove(&dag);
            }
        }
        self.reporting.remove(&serial);
        let links = (serial, LinkId(0))..=(serial, LinkId(u32::MAX));
        let reached: Vec<_> = self.thresholds_reached.range(links).map(|(key, _)| *key).collect();
        reached.iter().for_each(|key| _ = self.thresholds_reached.remove(key));
    }

    /// What has to be looked at whether it has sent the bytes.
    pub fn take_unreached(&mut self) -> Touched {
        std::mem::take(&mut self.unreached)
    }

    /// What may need another report threshold. `all`: every coflow that has one, too.
    pub fn take_unset(&mut self, all: bool) -> Touched {
        let mut unset = std::mem::take(&mut self.unset);
        if all {
            unset.coflows.extend(&self.reporting);
        }
        unset
    }

    /// A coflow has this report threshold from now on.
    pub fn set_threshold(&mut self, serial: u64, threshold: f64) {
        if threshold.is_finite() {
            self.reporting.insert(serial);
        } else {
            self.reporting.remove(&serial);
        }
    }

    /// How many limits a coflow has reached at a link.
    pub fn thresholds_reached(&self, serial: u64, link: LinkId) -> usize {
        self.thresholds_reached.get(&(serial, link)).copied().unwrap_or(0)
    }

    /// A coflow has sent so many bytes through a link. Returns the limits that it has reached by
    /// that.
    pub fn reach<'a>(
        &mut self,
        serial: u64,
        link: LinkId,
        bytes: f64,
        limits: &'a [f64],
    ) -> &'a [f64] {
        let reached = self.thresholds_reached.entry((serial, link)).or_default();
        let before = *reached;
        while limits.get(*reached).is_some_and(|limit| bytes >= *limit) {
            *reached += 1;
        }
        &limits[before..*reached]
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        let of = |touched: &Touched| touched.coflows.len() + touched.dags.len();
        of(&self.unreached) + of(&self.unset) + self.reporting.len() + self.thresholds_reached.len()
    }
}
