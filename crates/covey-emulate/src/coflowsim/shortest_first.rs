//! PFP: in each quantum, rack by rack, a receiver serves the first of its flows whose sender is not
//! taken yet, alone. Flows are sorted by bytes left when they are admitted.

use covey_trace::MB;

use super::job::Reducer;
use super::moving::{Ended, FlowId, Moving};

/// PFP. All sizes are whole MiB, so nothing is rounded.
pub(super) struct ShortestFirst {
    /// By receiver.
    queues: Vec<Queue>,
    /// Whether each sender is taken.
    taken: Vec<bool>,
}

/// The flows to a rack, in order; in parallel lists, since they are searched much.
#[derive(Default, Clone)]
struct Queue {
    src: Vec<u32>,
    /// Quanta left.
    left: Vec<u64>,
    flows: Vec<FlowId>,
    /// Whether each is of a reducer with nothing to receive.
    of_nothing: Vec<bool>,
    /// The index of the flow that is served.
    served: Option<usize>,
}

impl ShortestFirst {
    pub fn new(racks: usize) -> Self {
        Self { queues: vec![Queue::default(); racks], taken: vec![false; racks] }
    }
}

impl Moving for ShortestFirst {
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer) {
        let mib = (reducer.flow_bytes / MB) as u64;
        let queue = &mut self.queues[reducer.rack];
        // The flows are equal, so they are next to each other.
        let place = queue.left.iter().position(|&left| left > mib);
        let place = place.unwrap_or(queue.left.len());
        let row = place..place;
        let flows = reducer.from.len();
        let ids = (0..flows).map(|mapper| FlowId { coflow, reducer: number, mapper });
        queue.src.splice(row.clone(), reducer.from.iter().map(|&src| src as u32));
        queue.left.splice(row.clone(), std::iter::repeat_n(mib, flows));
        queue.flows.splice(row.clone(), ids);
        queue.of_nothing.splice(row, std::iter::repeat_n(reducer.bytes == 0.0, flows));
    }

    fn advance(&mut self, most: u64, ended: &mut Ended) -> u64 {
        self.taken.fill(false);
        let mut quanta = most;
        for queue in &mut self.queues {
            queue.served = queue.src.iter().position(|&src| !self.taken[src as usize]);
            if let Some(served) = queue.served {
                self.taken[queue.src[served] as usize] = true;
                quanta = quanta.min(queue.left[served]);
            }
        }
        for queue in &mut self.queues {
            let Some(served) = queue.served else { continue };
            queue.left[served] -= quanta;
            if queue.left[served] == 0 {
                queue.src.remove(served);
                queue.left.remove(served);
                let flow = queue.flows.remove(served);
                if queue.of_nothing.remove(served) {
                    ended.reducers.push([flow.coflow, flow.reducer]);
                }
                ended.flows.push(flow);
            }
        }
        quanta
    }
}
