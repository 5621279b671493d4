//! Flows that have started since the last allocation.

use covey_core::CoflowId;
use covey_core::sorted::Sorted;

/// A flow: its coflow, and its position in it.
type Flow = (CoflowId, u32);

/// Flows that join with the next allocation, in the order in which they have started.
#[derive(Debug, Default)]
pub struct Coming {
    /// `None`: the flow has ended meanwhile.
    flows: Vec<Option<Flow>>,
    /// Where each flow is in the list.
    places: Sorted<Flow, usize>,
}

impl Coming {
    /// No flow comes.
    pub fn clear(&mut self) {
        self.flows.clear();
        self.places.clear();
    }

    /// A flow has started that does not come yet.
    pub fn push(&mut self, flow: Flow) {
        self.places.insert(flow, self.flows.len());
        self.flows.push(Some(flow));
    }

    /// Takes a flow out. Returns whether it was coming.
    pub fn remove(&mut self, flow: Flow) -> bool {
        let place = self.places.remove(&flow);
        place.into_iter().for_each(|place| self.flows[place] = None);
        place.is_some()
    }

    /// The flows that come, in the order in which they have started.
    pub fn iter(&self) -> impl Iterator<Item = Flow> {
        self.flows.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_come_in_the_order_in_which_they_have_started() {
        let flow = |position| (CoflowId(3), position);
        let mut coming = Coming::default();
        [5, 2, 9, 7].into_iter().for_each(|position| coming.push(flow(position)));
        assert!(coming.remove(flow(2)));
        assert!(!coming.remove(flow(2)) && !coming.remove(flow(1)));
        coming.push(flow(2));
        assert!(coming.remove(flow(5)));
        assert!(coming.iter().eq([flow(9), flow(7), flow(2)]));
        coming.clear();
        assert_eq!((coming.iter().count(), coming.remove(flow(9))), (0, false));
    }

    #[test]
    fn as_many_flows_as_there_are_leave_before_they_have_joined() {
        // Ascending, as a client cancels them: the search for the last to come was quadratic.
        let mut coming = Coming::default();
        let flows = || (0..300_000).map(|position| (CoflowId(0), position));
        flows().for_each(|flow| coming.push(flow));
        assert!(flows().all(|flow| coming.remove(flow)));
        assert_eq!(coming.iter().count(), 0);
    }
}
