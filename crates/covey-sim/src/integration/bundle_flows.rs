//! The flows of one bundle, by when they end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::Ordered;

use super::integrator::FlowAt;

/// A flow of a bundle. It ends when the bundle's service reaches its target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub target: Ordered,
    pub flow: FlowAt,
}

/// The flows of one bundle. Most bundles have one, which needs no memory of its own.
#[derive(Debug, Default)]
pub(super) enum BundleFlows {
    #[default]
    None,
    One(Member),
    Many(BinaryHeap<Reverse<Member>>),
}

impl BundleFlows {
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Removes all flows. The memory of many is kept.
    pub fn clear(&mut self) {
        match self {
            BundleFlows::None | BundleFlows::One(_) => *self = BundleFlows::None,
            BundleFlows::Many(all) => all.clear(),
        }
    }

    /// The flow that ends first; of several the first by coflow and position.
    pub fn first(&self) -> Option<Member> {
        match self {
            BundleFlows::None => None,
            BundleFlows::One(member) => Some(*member),
            BundleFlows::Many(all) => all.peek().map(|Reverse(first)| *first),
        }
    }

    /// All flows, in an order that nothing may depend on.
    pub fn iter(&self) -> impl Iterator<Item = Member> + '_ {
        let (one, many) = match self {
            BundleFlows::None => (None, None),
            BundleFlows::One(member) => (Some(*member), None),
            BundleFlows::Many(all) => (None, Some(all)),
        };
        one.into_iter().chain(many.into_iter().flatten().map(|Reverse(member)| *member))
    }

    /// Adds a flow.
    pub fn push(&mut self, member: Member) {
        match self {
            BundleFlows::None => *self = BundleFlows::One(member),
            BundleFlows::One(other) => {
                *self = BundleFlows::Many([*other, member].map(Reverse).into());
            }
            BundleFlows::Many(all) => all.push(Reverse(member)),
        }
    }

    /// Removes the flow that ends first.
    pub fn pop(&mut self) {
        match self {
            BundleFlows::None | BundleFlows::One(_) => self.clear(),
            BundleFlows::Many(all) => _ = all.pop(),
        }
    }

    /// Removes a flow. Returns its target if it was there.
    pub fn remove(&mut self, flow: FlowAt) -> Option<f64> {
        let is_it = |member: &Member| member.flow == flow;
        let target = self.iter().find(is_it)?.target.0;
        match self {
            BundleFlows::None | BundleFlows::One(_) => self.clear(),
            BundleFlows::Many(all) => all.retain(|Reverse(member)| !is_it(member)),
        }
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use covey_core::CoflowId;

    use super::*;

    fn member(target: u32, position: u32) -> Member {
        let flow = FlowAt { coflow: CoflowId(0), position };
        Member { target: Ordered(f64::from(target)), flow }
    }

    #[test]
    fn flows_come_in_the_order_in_which_they_end() {
        let mut flows = BundleFlows::default();
        let mut expected: Vec<Member> = Vec::new();
        for position in 0..60 {
            flows.push(member(position * 7 % 5, position));
            expected.push(member(position * 7 % 5, position));
            if position % 3 == 2 {
                let gone = position / 2;
                let target = expected.iter().position(|it| it.flow.position == gone);
                let target = target.map(|k| expected.remove(k).target.0);
                assert_eq!(flows.remove(member(0, gone).flow), target);
            }
            if position % 4 == 3 || position % 10 > 5 {
                expected.sort_unstable();
                assert_eq!(flows.first(), expected.first().copied());
                if !expected.is_empty() {
                    expected.remove(0);
                }
                flows.pop();
            }
            let mut all: Vec<Member> = flows.iter().collect();
            all.sort_unstable();
            expected.sort_unstable();
            assert_eq!(all, expected);
            assert_eq!(flows.is_empty(), expected.is_empty());
        }
        assert_eq!(size_of::<BundleFlows>(), 24);
    }
}
