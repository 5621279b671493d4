//! The interface of the ways to integrate rates.

use covey_alloc::Allocator;
use covey_alloc::Traffic;
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, Time};

/// The state that integrators read and write beside their own memory.
pub(crate) struct Network<'a> {
    pub state: &'a mut State,
    pub allocator: &'a mut Allocator,
    pub now: Time,
}

impl Network<'_> {
    /// The network on which some traffic goes.
    pub(crate) fn of(traffic: &mut Traffic) -> Network<'_> {
        let now = traffic.now();
        let (state, allocator) = traffic.parts_mut();
        Network { state, allocator, now }
    }
}

/// A flow, by its coflow and its position in that coflow's demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowAt {
    pub coflow: CoflowId,
    pub position: u32,
}

impl FlowAt {
    /// A position as an index of a list.
    pub fn new(coflow: CoflowId, position: usize) -> FlowAt {
        FlowAt { coflow, position: position as u32 }
    }

    /// The position, as an index of a list.
    pub fn place(self) -> usize {
        self.position as usize
    }
}

/// Bytes left of a flow, as they were written last.
pub(super) fn left_in(state: &State, flow: FlowAt) -> f64 {
    let progress = state.coflow(flow.coflow).progress();
    progress.left[flow.place()] * progress.scale
}

/// Writes into the state that `left` bytes are left of a flow.
pub(super) fn write_left(state: &mut State, flow: FlowAt, left: f64) {
    let (demand, progress) = state.progress_mut(flow.coflow);
    let position = flow.place();
    let left = left / progress.scale;
    let less = progress.left[position] - left;
    progress.left[position] = left;
    demand.path(position).for_each(|l| progress.link_left[l] -= less);
}

/// Follows all flows while the rates of one round hold. There is an implementation for each form of
/// [`BulkRates`](covey_alloc::BulkRates).
pub(crate) trait Integrator {
    /// Begins to follow all flows. The state has their bytes left.
    fn begin(&mut self, network: &mut Network<'_>);

    /// Stops following flows, and writes their bytes left into the state. The allocator's rates may
    /// be the next ones already.
    fn end(&mut self, network: &mut Network<'_>);

    /// The time of the next end of a flow, or of the next threshold reached, if rates stay.
    fn next_end(&self) -> Time;

    /// Adds the flows that end now to `ending`, in an order that does not depend on ports. A flow
    /// may be named twice.
    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<FlowAt>);

    /// Updates the state that sharing reads. Call it before the allocator shares links.
    fn prepare(&mut self, network: &mut Network<'_>);

    /// Takes over the rates that the allocator has decided, from now on.
    fn install(&mut self, network: &mut Network<'_>);

    /// Writes the bytes left of every flow into the state.
    fn write_back(&mut self, network: &mut Network<'_>);

    /// Writes into the state the bytes left that a clairvoyant policy may see.
    fn write_back_for_policy(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
    }

    /// Whether no flow is sent.
    fn is_idle(&self) -> bool {
        !self.next_end().comes()
    }

    /// Bytes that a coflow has sent, as known without writing bytes back.
    fn sent(&self, state: &State, _now: Time, id: CoflowId) -> f64 {
        state.coflow(id).sent()
    }

    /// Writes the bytes sent by coflows into the state.
    fn report_sent(&mut self, network: &mut Network<'_>) {
        for k in 0..network.state.present().len() {
            let id = network.state.present()[k];
            let sent = self.sent(network.state, network.now, id);
            network.state.report(id, sent, network.now);
        }
    }

    /// A flow of a coflow is about to start.
    fn before_start(&mut self, _: &mut Network<'_>, _: CoflowId) {}

    /// Prepares for flows that are held or let go; `holds` is true if any is held.
    fn before_toggles(&mut self, network: &mut Network<'_>, holds: bool);

    /// A flow is not sent for a while. Returns its bytes left.
    fn hold(&mut self, network: &mut Network<'_>, flow: FlowAt) -> f64 {
        left_in(network.state, flow)
    }

    /// A flow of a coflow that was held is about to be sent again.
    fn before_let_go(&mut self, _: &mut Network<'_>, _: CoflowId) {}

    /// Restarts a flow that is under way.
    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId);
}
