//! Flows of a coflow that carry the same bytes.

use std::collections::{BTreeMap, BTreeSet};

/// Which flows of a coflow are attempts of one transfer. The first of them to end makes the others
/// needless.
///
/// Flows are named by their indices. A flow that was never [added](Attempts::add) is the only
/// attempt of its transfer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The transfer of each attempt, named by its first attempt. First attempts without another one
    /// are left out.
    transfer: BTreeMap<u32, u32>,
    /// Transfers, each with one of its attempts.
    attempts: BTreeSet<(u32, u32)>,
}

impl Attempts {
    /// A flow is another attempt of the transfer that a flow `of` the coflow is an attempt of.
    pub fn add(&mut self, flow: u32, of: u32) {
        let transfer = self.transfer(of);
        for attempt in [transfer, flow] {
            self.transfer.insert(attempt, transfer);
            self.attempts.insert((transfer, attempt));
        }
    }

    /// A flow is no attempt of its transfer any more.
    pub fn remove(&mut self, flow: u32) {
        if let Some(transfer) = self.transfer.remove(&flow) {
            self.attempts.remove(&(transfer, flow));
        }
    }

    /// The other attempts of a flow's transfer, in ascending order.
    pub fn others(&self, flow: u32) -> impl Iterator<Item = u32> {
        let transfer = self.transfer.get(&flow).copied();
        let attempts = transfer.map(|it| self.attempts.range((it, 0)..=(it, u32::MAX)));
        attempts.into_iter().flatten().map(|(_, attempt)| *attempt).filter(move |it| *it != flow)
    }

    /// The first attempt of a flow's transfer: the flow itself if there was none before it.
    pub fn transfer(&self, flow: u32) -> u32 {
        self.transfer.get(&flow).copied().unwrap_or(flow)
    }

    /// Whether every flow is the only attempt of its transfer.
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    /// Forgets all attempts.
    pub fn clear(&mut self) {
        self.transfer.clear();
        self.attempts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_of_an_attempt_is_one_of_the_same_transfer() {
        let mut attempts = Attempts::default();
        let others = |attempts: &Attempts, flow| attempts.others(flow).collect::<Vec<_>>();
        assert!(attempts.is_empty());
        attempts.add(3, 1);
        attempts.add(5, 3);
        attempts.add(4, 2);
        assert_eq!(others(&attempts, 1), [3, 5]);
        assert_eq!(others(&attempts, 3), [1, 5]);
        assert_eq!(others(&attempts, 2), [4]);
        assert_eq!(others(&attempts, 0), []);
        assert_eq!([1, 3, 5, 0].map(|flow| attempts.transfer(flow)), [1, 1, 1, 0]);
        attempts.remove(1);
        assert_eq!(others(&attempts, 5), [3]);
        assert_eq!(others(&attempts, 1), []);
    }
}
