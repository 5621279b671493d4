//! What is remembered of coflows that have gone, and of DAGs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use covey_core::{Lineage, Time};
use imbl::OrdMap;

use crate::record::{Key, Registrant, Summary};
use covey_api::Limits;

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

/// What is remembered of coflows that have gone, by number. A copy shares all until it changes.
pub(super) type Summaries = OrdMap<u64, Arc<Summary>>;

/// Coflows that have gone, for those who still ask for them. All fields name the same coflows.
#[derive(Debug, Default)]
pub(super) struct Gone {
    summaries: Summaries,
    /// Their numbers, by place: in the order in which they went.
    order: BTreeMap<u64, u64>,
    /// The place of the next.
    next: u64,
    /// The places of those of each tenant, and of those that belong to nobody.
    of_tenant: BTreeMap<Option<String>, BTreeSet<u64>>,
    /// The places of those of each token.
    of_token: BTreeMap<String, Places>,
}

/// Places of coflows of a token.
#[derive(Debug, Default)]
struct Places {
    all: BTreeSet<u64>,
    /// Of those whose keys are remembered.
    keyed: BTreeSet<u64>,
}

impl Gone {
    pub fn get(&self, serial: u64) -> Option<&Summary> {
        self.summaries.get(&serial).map(Arc::as_ref)
    }

    /// A copy of all.
    pub fn summaries(&self) -> Summaries {
        self.summaries.clone()
    }

    pub fn contains(&self, serial: u64) -> bool {
        self.summaries.contains_key(&serial)
    }

    /// The lineage of one of them.
    pub fn lineage(&self, serial: u64) -> Option<Lineage> {
        let (external, internal) = self.get(serial)?.lineage;
        Some(Lineage { external, internal })
    }

    /// Their numbers, ascending.
    #[cfg(test)]
    pub fn serials(&self) -> Vec<u64> {
        self.summaries.keys().copied().collect()
    }

    /// In the order in which they went.
    pub fn in_order(&self) -> impl Iterator<Item = &Summary> {
        self.order.values().filter_map(|serial| self.get(*serial))
    }

    /// How many there are of a token, and how many of those have a key.
    pub fn of_token(&self, token: &str) -> (usize, usize) {
        self.of_token.get(token).map_or((0, 0), |places| (places.all.len(), places.keyed.len()))
    }

    pub fn insert(&mut self, summary: Summary) {
        let place = self.next;
        self.next += 1;
        self.order.insert(place, summary.id);
        let tenant = summary.owner.as_ref().map(|owner| owner.tenant.clone());
        self.of_tenant.entry(tenant).or_default().insert(place);
        if let Some(owner) = &summary.owner {
            let places = self.of_token.entry(owner.token.clone()).or_default();
            places.all.insert(place);
            places.keyed.extend(summary.key.as_ref().map(|_| place));
        }
        self.summaries.insert(summary.id, Arc::new(summary));
    }

    /// Forgets the key of the coflow of a token that went first of those with keys. Returns its
    /// owner and the key.
    pub fn pop_key(&mut self, token: &str) -> Option<(Option<Registrant>, Key)> {
        let place = self.of_token.get_mut(token)?.keyed.pop_first()?;
        let summary = Arc::make_mut(self.summaries.get_mut(self.order.get(&place)?)?);
        Some((summary.owner.clone(), summary.key.take()?))
    }

    /// Forgets one that is too many, or that went before that time.
    pub fn pop(
        &mut self,
        max: usize,
        before: Time,
        limits: &BTreeMap<String, Limits>,
    ) -> Option<Arc<Summary>> {
        let place = self.old(before).or_else(|| self.above(limits)).or_else(|| self.above_all(max));
        let serial = self.order.remove(&place?)?;
        let summary = self.summaries.remove(&serial)?;
        let place = place?;
        let tenant = summary.owner.as_ref().map(|owner| owner.tenant.clone());
        forget(&mut self.of_tenant, &tenant, |places| {
            places.remove(&place);
            places.is_empty()
        });
        if let Some(owner) = &summary.owner {
            forget(&mut self.of_token, &owner.token, |places| {
                places.all.remove(&place);
                places.keyed.remove(&place);
                places.all.is_empty()
            });
        }
        Some(summary)
    }

    /// The first, if it went before that time.
    fn old(&self, before: Time) -> Option<u64> {
        let (place, serial) = self.order.first_key_value()?;
        let end_s = self.summaries.get(serial)?.end_s;
        (Time::from_secs(end_s) < before).then_some(*place)
    }

    /// The first of a token that has more than it may.
    fn above(&self, limits: &BTreeMap<String, Limits>) -> Option<u64> {
        let of = |(token, limits): (&String, &Limits)| {
            let places = &self.of_token.get(token)?.all;
            places.first().filter(|_| limits.gone.is_some_and(|most| places.len() > most)).copied()
        };
        limits.iter().find_map(of)
    }

    /// If there are more than `max`, the first of the tenant that has most.
    fn above_all(&self, max: usize) -> Option<u64> {
        if self.order.len() <= max {
            return None;
        }
        // Of several, the one whose first went first.
        let most =
            self.of_tenant.values().max_by_key(|places| (places.len(), Reverse(places.first())))?;
        most.first().copied()
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let tokens = self.of_token.values().map(|it| it.all.len() + it.keyed.len()).sum::<usize>();
        let tenants = self.of_tenant.values().map(BTreeSet::len).sum::<usize>();
        self.summaries.len() + self.order.len() + tenants + tokens
    }
}

/// Changes what is known under a name, and removes it if nothing is left.
fn forget<K: Ord, T>(known: &mut BTreeMap<K, T>, name: &K, change: impl FnOnce(&mut T) -> bool) {
    if known.get_mut(name).is_some_and(change) {
        known.remove(name);
    }
}
