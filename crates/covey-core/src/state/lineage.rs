//! The ids of coflows that depend on each other (Aalo, SIGCOMM 2015, §5.1 and Pseudocode 2).
//!
//! An id is `external.internal`. The external part names a DAG of coflows, in order of
//! registration; the internal part orders coflows inside it, a child after its parents.
//!
//! ```
//! use covey_core::lineage::Lineages;
//! let mut ids = Lineages::default();
//! let map = ids.register([]);
//! let join = ids.register([map]);
//! let sort = ids.register([map, join]);
//! let other = ids.register([]);
//! assert_eq!([map, join, sort, other].map(|id| id.to_string()), ["0.0", "0.1", "0.2", "1.0"]);
//! ```

use std::fmt;

/// Where a coflow stands among those it depends on. The order is that of scheduling: earlier DAGs
/// first, and inside a DAG a child after its parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lineage {
    /// The DAG; numbers are given in order of registration, from 0.
    pub external: u64,
    /// One more than the largest of its parents'; 0 without parents.
    pub internal: u32,
}

impl Lineage {
    /// The id of a coflow that has these parents; `None` if it has none.
    ///
    /// Parents of several DAGs join it to the latest of them: the largest id counts, as in the
    /// authors' code.
    pub fn after(parents: impl IntoIterator<Item = Lineage>) -> Option<Lineage> {
        let last = parents.into_iter().max()?;
        Some(Lineage { internal: last.internal.saturating_add(1), ..last })
    }
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.external, self.internal)
    }
}

/// Gives ids.
#[derive(Debug, Clone, Default)]
pub struct Lineages {
    next: u64,
}

impl Lineages {
    /// The id of a coflow that has these parents; without any, it is the first of a new DAG.
    pub fn register(&mut self, parents: impl IntoIterator<Item = Lineage>) -> Lineage {
        Lineage::after(parents).unwrap_or_else(|| {
            let external = self.next;
            self.next += 1;
            Lineage { external, internal: 0 }
        })
    }

    /// Number of DAGs so far; external ids are below it.
    pub fn dags(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_two_dags_belongs_to_the_later_one() {
        let mut ids = Lineages::default();
        let (a, b) = (ids.register([]), ids.register([]));
        let deep = ids.register([ids.clone().register([a])]);
        assert_eq!(ids.register([deep, b]), Lineage { external: 1, internal: 1 });
        assert_eq!(ids.register([b, deep]), Lineage { external: 1, internal: 1 });
        assert_eq!(ids.dags(), 2);
    }

    #[test]
    fn children_come_after_parents_and_dags_in_order_of_registration() {
        let mut ids = Lineages::default();
        let a = ids.register([]);
        let b = ids.register([]);
        let child = ids.register([a]);
        assert!(a < child && child < b);
    }
}
