//! What each way to integrate rates does.

use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, Time, Traffic};

/// What integrators read and write beside their own memory.
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

/// Writes into the state that `left` bytes are left of a flow.
pub(super) fn write_left(state: &mut State, id: CoflowId, position: u32, left: f64) {
    let (demand, progress) = state.progress_mut(id);
    let position = position as usize;
    let left = left / progress.scale;
    let less = progress.left[position] - left;
    progress.left[position] = left;
    demand.path(position).for_each(|l| progress.link_left[l] -= less);
}

/// Follows all flows while the rates of one round hold. There is an implementation for each form of
/// [`BulkRates`](covey_core::alloc::BulkRates).
pub(crate) trait Integrator {
    /// Begins to follow all flows. The state tells what is left of them.
    fn begin(&mut self, network: &mut Network<'_>);

    /// Ends to follow flows, and writes what is left of them into the state. The rates that the
    /// allocator has may be the next ones already.
    fn end(&mut self, network: &mut Network<'_>);

    /// When something ends by itself if rates stay: a flow, or the bytes up to a limit.
    fn next_end(&self) -> Time;

    /// Adds the flows that end now to `ending`, by coflow and position, in an order that does not
    /// depend on ports. A flow may be named twice.
    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<(CoflowId, usize)>);

    /// To be called before the allocator shares links: brings up to date what sharing looks at.
    fn prepare(&mut self, network: &mut Network<'_>);

    /// Takes over the rates that the allocator has decided, from now on.
    fn install(&mut self, network: &mut Network<'_>);

    /// Writes what is left of every flow into the state.
    fn write_back(&mut self, network: &mut Network<'_>);

    /// Writes into the state what a policy that knows sizes may look at.
    fn write_back_for_policy(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
    }

    /// Whether nothing is sent.
    fn is_idle(&self) -> bool {
        !self.next_end().comes()
    }

    /// Bytes that a coflow has sent, as far as this is known without writing anything back.
    fn sent(&self, state: &State, _now: Time, id: CoflowId) -> f64 {
        state.coflow(id).sent()
    }

    /// Writes into the state how much coflows have sent.
    fn report_sent(&mut self, network: &mut Network<'_>) {
        for k in 0..network.state.present().len() {
            let id = network.state.present()[k];
            let sent = self.sent(network.state, network.now, id);
            network.state.report(id, sent, network.now);
        }
    }

    /// A flow of a coflow is about to start.
    fn before_start(&mut self, _: &mut Network<'_>, _: CoflowId) {}

    /// A flow that has started, or was held, can be sent from now on.
    fn joined(&mut self, _: &mut Network<'_>, _: CoflowId, _: usize) {}

    /// To be called before flows are held or let go; `holds` says whether any is held.
    fn before_toggles(&mut self, network: &mut Network<'_>, holds: bool);

    /// A flow is not sent for a while. Returns what is left of it.
    fn hold(&mut self, network: &mut Network<'_>, id: CoflowId, position: usize) -> f64 {
        let progress = network.state.coflow(id).progress();
        progress.left[position] * progress.scale
    }

    /// A flow that was held, with `left` bytes left, is about to be sent again.
    fn before_let_go(&mut self, _: &mut Network<'_>, _: CoflowId, _: usize, _left: f64) {}

    /// Lets a flow that is under way begin again.
    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId);
}
