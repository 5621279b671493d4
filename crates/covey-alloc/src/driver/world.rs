//! What a driver needs to know of the world in which flows are sent.

use crate::driver::traffic::Traffic;
use covey_core::Answer;
use covey_core::Event;
use covey_core::{CoflowId, FlowId};
use covey_core::{Group, Rank, Ranking};
use covey_core::{Wake, Wakes};

/// What a cluster does to flows while they are sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// These active flows cannot be served for a while: a host or a link of theirs is away.
    Suspended(Vec<FlowId>),
    /// These suspended flows can be served again.
    Resumed(Vec<FlowId>),
    /// Flows may have ended before their time. Then this event happened.
    Happened(Option<Event>),
}

/// The world in which flows are sent: a simulation, or real hosts. The methods stand in the order
/// in which a [`Driver`](crate::Driver) calls them in a round; [`World::refresh`] is called before
/// every event. The defaults suit a world that tells its driver of events as they happen.
pub trait World {
    /// Ends the flows that end by now.
    fn end_flows(&mut self, _traffic: &mut Traffic) {}

    /// Whether flows may still be added to a coflow of which every flow has ended.
    fn stays_open(&mut self, _id: CoflowId) -> bool {
        false
    }

    /// Bytes that a coflow has sent that is about to leave.
    fn bytes_sent(&mut self, traffic: &Traffic, id: CoflowId) -> f64 {
        let coflow = traffic.state().coflow(id);
        let sent = coflow.finished_bytes() - coflow.compressed().saved();
        coflow.attained().0.max(sent)
    }

    /// A coflow has left, and the policy was told. Its id is about to be used again.
    fn coflow_left(&mut self, _traffic: &Traffic, _id: CoflowId) {}

    /// Takes the next change of the cluster that comes by now.
    fn next_change(&mut self, _traffic: &mut Traffic) -> Option<Change> {
        None
    }

    /// Lets one coflow arrive, or a flow start or begin again, if any does by now. Returns the
    /// event.
    fn begin_next(&mut self, _traffic: &mut Traffic) -> Option<Event> {
        None
    }

    /// Takes the wake-ups that have come by now out of `wakes`, and makes `due` their list, with
    /// serial numbers. The default takes times alone.
    fn take_due(&mut self, traffic: &Traffic, wakes: &mut Wakes, due: &mut Vec<(u64, Wake)>) {
        wakes.take_due(traffic.now(), &[], due);
    }

    /// Adds an event to `reached` for each of the policy's
    /// [thresholds](covey_core::Policy::link_thresholds) that a coflow has reached at a link.
    fn find_thresholds_reached(&mut self, _traffic: &Traffic, _reached: &mut Vec<Event>) {}

    /// Brings the facts up to date at which the policy may look. It is about to be told of an
    /// event, or to be asked for its plan.
    fn refresh(&mut self, _traffic: &mut Traffic) {}

    /// Writes down what is left of every flow of some coflows, and what these have sent in all. The
    /// policy is about to [read that](covey_core::Policy::reads_flows_of).
    fn refresh_flows(&mut self, _traffic: &mut Traffic, _coflows: &[CoflowId]) {}

    /// Flows of these coflows, in ascending order, are about to move into or out of them. Brings
    /// what is left of all their flows up to date, and forgets their rates.
    fn before_regrouping(&mut self, _traffic: &mut Traffic, _coflows: &[CoflowId]) {}

    /// A group of the policy's own making has begun. It has no flows yet.
    fn group_begun(&mut self, _traffic: &Traffic, _id: CoflowId) {}

    /// The flows named in [`World::before_regrouping`]'s round have moved, or have been put into a
    /// group for the first time. These are their names from now on, in the order in which the
    /// policy put them.
    fn regrouped(&mut self, _traffic: &mut Traffic, _flows: &[FlowId]) {}

    /// The plan has changed, at the places `edits`; `None` if it was written again. The allocator
    /// does not know it yet.
    fn plan_changed(
        &mut self,
        _traffic: &mut Traffic,
        _ranking: &Ranking,
        _edits: Option<&[(Rank, Group)]>,
    ) {
    }

    /// The allocator is about to share the links. `answer` is what the policy answered in this
    /// round.
    fn before_sharing(&mut self, _traffic: &mut Traffic, _ranking: &Ranking, _answer: Answer) {}

    /// The allocator has shared the links.
    fn rates_changed(&mut self, _traffic: &mut Traffic) {}
}

/// A world of which a driver learns only what it is told, and the times that have come.
impl World for () {}
