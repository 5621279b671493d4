//! Sub-coflows that have ended, as those remember them that may still depend on them.

use std::collections::VecDeque;

use covey_core::sorted::Sorted;
use covey_stream::SubCoflow;

/// Sub-coflows that are remembered. Beyond that the oldest are forgotten: a coflow that depends on
/// one of these does not learn its size.
const REMEMBERED: usize = 1 << 16;

/// The sizes of sub-coflows that have ended, and their ids.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// By name: the id that Algorithm 1 gave the sub-coflow, and its bytes.
    subs: Sorted<SubCoflow, (u32, f64)>,
    order: VecDeque<SubCoflow>,
}

impl Ended {
    /// A sub-coflow has ended.
    pub fn add(&mut self, sub: SubCoflow, id: u32, bytes: f64) {
        if self.subs.insert(sub, (id, bytes)).is_none() {
            self.order.push_back(sub);
        }
        if self.order.len() > REMEMBERED {
            self.order.pop_front().into_iter().for_each(|oldest| _ = self.subs.remove(&oldest));
        }
    }

    /// The sub-coflows of a coflow, with their bytes.
    pub fn of(&self, coflow: u64) -> impl Iterator<Item = (SubCoflow, f64)> {
        let from = self.subs.from(SubCoflow { coflow, port: 0 });
        let of_coflow = from.take_while(move |(sub, _)| sub.coflow == coflow);
        of_coflow.map(|&(sub, (_, bytes))| (sub, bytes))
    }

    /// The id of the sub-coflows of a coflow.
    pub fn id(&self, coflow: u64) -> Option<u32> {
        let (sub, (id, _)) = self.subs.from(SubCoflow { coflow, port: 0 }).next()?;
        (sub.coflow == coflow).then_some(*id)
    }
}
