//! What is remembered of coflows that have gone, and of DAGs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_core::{Lineage, Time};

use crate::record::Summary;

/// A DAG of coflows.
#[derive(Debug, Default, Clone)]
pub(super) struct Dag {
    /// Bytes sent by its coflows that have gone.
    pub bytes: f64,
    /// Its coflows that are present, or remembered.
    members: usize,
    /// Its coflows that are present.
    pub present: BTreeSet<u64>,
}

/// The DAGs of coflows that are present, or remembered.
#[derive(Debug, Default)]
pub(super) struct Dags {
    dags: BTreeMap<u64, Dag>,
    /// The number of the next DAG.
    pub next: u64,
}

impl Dags {
    pub fn get(&self, external: u64) -> Option<&Dag> {
        self.dags.get(&external)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Dag)> {
        self.dags.iter().map(|(external, dag)| (*external, dag))
    }

    /// What coflows of a DAG that have gone have sent.
    pub fn set_bytes(&mut self, external: u64, bytes: f64) {
        self.dags.entry(external).or_default().bytes = bytes;
    }

    /// A coflow that is present belongs to a DAG.
    pub fn join(&mut self, external: u64, serial: u64) {
        self.remember(external);
        self.dags.entry(external).or_default().present.insert(serial);
    }

    /// A coflow that is remembered belongs to a DAG.
    pub fn remember(&mut self, external: u64) {
        self.next = self.next.max(external + 1);
        self.dags.entry(external).or_default().members += 1;
    }

    /// A coflow has gone, with so many bytes; it stays a member until it is forgotten.
    pub fn leave(&mut self, external: u64, serial: u64, bytes: f64) {
        if let Some(dag) = self.dags.get_mut(&external) {
            dag.bytes += bytes;
            dag.present.remove(&serial);
        }
    }

    /// A coflow is forgotten, and its DAG with the last of its members.
    pub fn forget(&mut self, external: u64) {
        if let Some(dag) = self.dags.get_mut(&external) {
            dag.members -= 1;
            if dag.members == 0 {
                self.dags.remove(&external);
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.dags.len()
    }
}

/// Coflows that have gone, for those who still ask for them. The two fields name the same coflows.
#[derive(Debug, Default)]
pub(super) struct Gone {
    summaries: BTreeMap<u64, Summary>,
    /// Their numbers, in the order in which they went.
    order: VecDeque<u64>,
}

impl Gone {
    pub fn get(&self, serial: u64) -> Option<&Summary> {
        self.summaries.get(&serial)
    }

    pub fn contains(&self, serial: u64) -> bool {
        self.summaries.contains_key(&serial)
    }

    /// The lineage of one of them.
    pub fn lineage(&self, serial: u64) -> Option<Lineage> {
        let (external, internal) = self.get(serial)?.lineage;
        Some(Lineage { external, internal })
    }

    /// Their numbers from this one on, ascending.
    pub fn range(&self, from: u64) -> impl Iterator<Item = u64> {
        self.summaries.range(from..).map(|(serial, _)| *serial)
    }

    /// In the order in which they went.
    pub fn in_order(&self) -> impl Iterator<Item = &Summary> {
        self.order.iter().filter_map(|serial| self.summaries.get(serial))
    }

    pub fn insert(&mut self, summary: Summary) {
        self.order.push_back(summary.id);
        self.summaries.insert(summary.id, summary);
    }

    /// Forgets the one that went first, if there are more than `max`, or if it went before that time.
    pub fn pop(&mut self, max: usize, before: Time) -> Option<Summary> {
        let first = self.order.front()?;
        let is_old = |summary: &Summary| Time::from_secs(summary.end_s) < before;
        if self.order.len() <= max && !self.summaries.get(first).is_some_and(is_old) {
            return None;
        }
        let first = self.order.pop_front()?;
        self.summaries.remove(&first)
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.summaries.len() + self.order.len()
    }
}
