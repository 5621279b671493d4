//! PFP: in each quantum, rack by rack, a receiver serves one flow alone, the first whose sender is
//! not taken yet. Flows are sorted by bytes left when they are admitted.

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

/// The flows to a rack, in order; in parallel lists, because PFP searches them often.
#[derive(Default, Clone)]
struct Queue {
    src: Vec<u32>,
    /// Quanta left.
    left: Vec<u64>,
    flows: Vec<FlowId>,
    /// Whether each flow's reducer has nothing to receive.
    without_bytes: Vec<bool>,
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
        let position = queue.left.iter().position(|&left| left > mib);
        let position = position.unwrap_or(queue.left.len());
        let row = position..position;
        let flows = reducer.from.len();
        let ids = (0..flows).map(|mapper| FlowId { coflow, reducer: number, mapper });
        queue.src.splice(row.clone(), reducer.from.iter().map(|&src| src as u32));
        queue.left.splice(row.clone(), std::iter::repeat_n(mib, flows));
        queue.flows.splice(row.clone(), ids);
        queue.without_bytes.splice(row, std::iter::repeat_n(reducer.bytes == 0.0, flows));
    }

    fn advance(&mut self, max_quanta: u64, ended: &mut Ended) -> u64 {
        self.taken.fill(false);
        let mut quanta = max_quanta;
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
                if queue.without_bytes.remove(served) {
                    ended.reducers.push([flow.coflow, flow.reducer]);
                }
                ended.flows.push(flow);
            }
        }
        quanta
    }
}
