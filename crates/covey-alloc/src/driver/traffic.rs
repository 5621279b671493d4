//! The coflows that are present, together with their rates.

use crate::{Allocator, PlanError, TenantShares};
use covey_core::Demand;
use covey_core::Event;
use covey_core::Fabric;
use covey_core::Ranking;
use covey_core::Time;
use covey_core::sets::sorted::Sorted;
use covey_core::state::{FlowSpec, Newcomer, Progress, Registration, State};
use covey_core::{CoflowId, FlowId, LinkId};

/// The coflows that are present, the rates they have, and what has ended since the policy was last
/// told. Each method that changes coflows also notifies the allocator.
#[derive(Debug)]
pub struct Traffic {
    state: State,
    allocator: Allocator,
    /// Where links are divided among tenants, what is behind the rates of `allocator`.
    tenants: TenantShares,
    now: Time,
    pub(crate) ended: Ended,
    /// The coflows that are present, by the external id of their DAG.
    dags: Sorted<(u64, CoflowId), ()>,
}

/// What has ended since the policy was last told.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub flows: Vec<FlowId>,
    /// Coflows, and links at which they have no unfinished flow any more.
    pub drained: Vec<(CoflowId, LinkId)>,
    /// Coflows of which every flow has ended.
    pub complete: Vec<CoflowId>,
    /// Coflows that leave whatever is left of them.
    pub leaving: Vec<CoflowId>,
}

impl Ended {
    /// Whether nothing has ended.
    pub fn is_empty(&self) -> bool {
        let Ended { flows, drained, complete, leaving } = self;
        flows.is_empty() && drained.is_empty() && complete.is_empty() && leaving.is_empty()
    }
}

/// A flow on its way into a coflow, from another one or from none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MovedFlow {
    spec: FlowSpec,
    number: u64,
    /// Its name before, if it was in a coflow.
    from: Option<FlowId>,
    /// Bytes that it has sent.
    sent: f64,
    /// Whether it can be sent. If not, it has ended.
    is_active: bool,
    /// Whether it is not served for the time being.
    is_suspended: bool,
}

impl From<Newcomer> for MovedFlow {
    fn from(newcomer: Newcomer) -> MovedFlow {
        let Newcomer { number, spec, .. } = newcomer;
        MovedFlow { spec, number, from: None, sent: 0.0, is_active: true, is_suspended: false }
    }
}

impl Traffic {
    /// No coflows yet.
    pub fn new(fabric: Fabric) -> Traffic {
        Traffic::with_allocator(fabric, Allocator::default())
    }

    /// No coflows yet, with rates that this allocator is to decide.
    pub fn with_allocator(fabric: Fabric, allocator: Allocator) -> Traffic {
        Traffic {
            state: State::new(fabric),
            allocator,
            tenants: TenantShares::default(),
            now: Time::ZERO,
            ended: Ended::default(),
            dags: Sorted::default(),
        }
    }

    /// Forgets all coflows and goes back to the origin of time. Keeps its memory, so that the same
    /// history again allocates nothing.
    pub fn clear(&mut self) {
        self.state.clear();
        self.allocator.clear();
        self.tenants.clear();
        self.now = Time::ZERO;
        let Ended { flows, drained, complete, leaving } = &mut self.ended;
        flows.clear();
        drained.clear();
        complete.clear();
        leaving.clear();
        self.dags.clear();
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// The facts about the coflows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The facts about the coflows, to write down what has been sent.
    pub fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// The rates in force.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// Facts and rates, for a world that follows flows by their rates.
    pub fn parts_mut(&mut self) -> (&mut State, &mut Allocator) {
        (&mut self.state, &mut self.allocator)
    }

    /// What is left of a coflow's flows, to be brought up to date from outside.
    pub fn progress_mut(&mut self, id: CoflowId) -> (&Demand, &mut Progress) {
        self.allocator.touch(id);
        self.state.progress_mut(id)
    }

    /// Adds a coflow. None of its flows has started.
    pub fn register(
        &mut self,
        registration: Registration,
        flows: impl Iterator<Item = FlowSpec> + Clone,
    ) -> CoflowId {
        let id = self.state.register(registration, flows);
        self.dags.insert((registration.lineage.external, id), ());
        id
    }

    /// Adds flows to a coflow that is present; none of them has started.
    pub fn extend(&mut self, id: CoflowId, flows: impl Iterator<Item = FlowSpec> + Clone) {
        self.before_positions_change(id);
        self.state.extend(id, flows);
    }

    fn before_positions_change(&mut self, id: CoflowId) {
        self.allocator.before_positions_change(&self.state, id);
        self.tenants.forget(&self.state, id);
    }

    /// Starts a flow. Returns whether it has bytes to send; if not, it is to be
    /// [finished](Traffic::finish) at once.
    #[inline]
    pub fn start(&mut self, flow: FlowId) -> bool {
        self.state.start(flow);
        let position = self.serve(flow);
        // A size that is not known is NaN.
        let size = self.state.coflow(flow.coflow).progress().size[position];
        size > 0.0 || size.is_nan()
    }

    /// Notifies the allocator that an active flow is to be served. Returns its position.
    #[inline]
    fn serve(&mut self, flow: FlowId) -> usize {
        let position = self.state.coflow(flow.coflow).demand().position(flow.index);
        self.allocator.touch(flow.coflow);
        self.allocator.adjust(&self.state, flow.coflow, position, 1.0);
        position
    }

    /// Ends the active flow at a position of a coflow.
    #[inline]
    pub fn finish(&mut self, id: CoflowId, position: usize) {
        let index = self.state.coflow(id).demand().index(position);
        let drained = &mut self.ended.drained;
        self.state.finish(id, position, |link| drained.push((id, link)));
        self.stop_serving(id, position);
        self.ended.flows.push(FlowId { coflow: id, index });
        if self.state.coflow(id).is_over() {
            self.ended.complete.push(id);
        }
    }

    #[inline]
    fn stop_serving(&mut self, id: CoflowId, position: usize) {
        self.allocator.touch(id);
        self.allocator.adjust(&self.state, id, position, -1.0);
    }

    /// A coflow is to leave, whatever is left of it. Its active flows must have been finished.
    pub fn leave(&mut self, id: CoflowId) {
        self.ended.leaving.push(id);
    }

    /// Lets an active flow begin again: what it has sent is lost.
    pub fn restart(&mut self, flow: FlowId) {
        self.state.restart(flow);
        self.allocator.forget(&self.state, flow.coflow);
    }

    /// Ends an unfinished flow of a coflow that is not compressed with what it has sent, as far as
    /// progress tells. It may be suspended, or not have started. Returns the bytes that it has
    /// sent.
    pub fn cancel(&mut self, flow: FlowId) -> f64 {
        let coflow = self.state.coflow(flow.coflow);
        let position = coflow.demand().position(flow.index);
        let (sent, is_active) = (coflow.sent_at(position), coflow.demand().is_active(position));
        if coflow.is_suspended(flow.index) {
            self.resume(flow);
        } else if !is_active {
            self.start(flow);
        }
        self.state.set_size(flow, sent);
        self.finish(flow.coflow, position);
        sent
    }

    /// Takes an active flow out of what is served. Calls `drained` with each link at which its
    /// coflow is not served any more.
    pub(crate) fn suspend(&mut self, flow: FlowId, drained: impl FnMut(LinkId)) {
        let position = self.state.coflow(flow.coflow).demand().position(flow.index);
        self.state.suspend(flow, drained);
        self.stop_serving(flow.coflow, position);
    }

    /// Has a suspended flow served again.
    pub(crate) fn resume(&mut self, flow: FlowId) {
        if self.state.coflow(flow.coflow).is_suspended(flow.index) {
            self.state.resume(flow);
            self.serve(flow);
        }
    }

    /// Moves flows to another coflow that is present, or out of all coflows, each with the bytes
    /// that it has sent. A flow that has ended moves as well. Returns the new names of the flows.
    pub(crate) fn move_flows(
        &mut self,
        flows: &[(FlowId, f64)],
        to: Option<CoflowId>,
    ) -> Vec<FlowId> {
        let moved: Vec<MovedFlow> =
            flows.iter().map(|&(flow, sent)| self.withdraw(flow, sent)).collect();
        to.map_or_else(Vec::new, |to| self.join(to, &moved))
    }

    /// Adds flows to a coflow that is present. Returns their new names.
    pub(crate) fn join(&mut self, to: CoflowId, moved: &[MovedFlow]) -> Vec<FlowId> {
        let place = |moved: &MovedFlow| self.state.take_place(to, moved.from?, moved.number);
        let places: Vec<Option<u32>> = moved.iter().map(place).collect();
        let others = || moved.iter().zip(&places).filter(|(_, place)| place.is_none());
        let first = self.state.coflow(to).demand().width() as u32;
        if others().next().is_some() {
            self.state.expect_joined(to, others().map(|(moved, _)| moved.number));
            self.extend(to, others().map(|(moved, _)| moved.spec));
        }
        let mut new = first..;
        let index = |place: &Option<u32>| place.or_else(|| new.next());
        let names: Vec<FlowId> =
            places.iter().filter_map(index).map(|index| FlowId { coflow: to, index }).collect();
        for (&flow, moved) in names.iter().zip(moved) {
            // Of a flow that has left, its coflow keeps what it had sent.
            self.state.set_size(flow, moved.spec.bytes);
            if self.start(flow) && moved.is_active {
                self.state.set_sent_before(flow, moved.sent);
                if moved.is_suspended {
                    // The coflow was not served at a link on its account alone.
                    self.suspend(flow, |_| {});
                }
            } else {
                self.finish(to, self.state.coflow(to).demand().position(flow.index));
            }
        }
        names
    }

    /// Reserves places in a group that has begun for the flows of a coflow, if all that join it now
    /// are of that one.
    pub(crate) fn reserve(&mut self, group: CoflowId, moved: &[MovedFlow]) {
        let from = |moved: &MovedFlow| moved.from.map(|flow| flow.coflow);
        if let Some(of) = moved.first().and_then(from)
            && moved.iter().all(|moved| from(moved) == Some(of))
        {
            self.before_positions_change(group);
            self.state.reserve(group, of);
        }
    }

    /// The flows of these coflows are about to change: what was found out about their rates holds
    /// no more.
    pub(crate) fn begin_regrouping(&mut self, ids: &[CoflowId]) {
        ids.iter().for_each(|&id| self.allocator.before_flows_move(&self.state, id));
    }

    /// Takes newcomers, by their numbers, to have them join coflows.
    pub(crate) fn take_newcomers(
        &mut self,
        numbers: &[u64],
    ) -> impl Iterator<Item = MovedFlow> + use<> {
        self.state.take_newcomers(numbers).into_iter().map(MovedFlow::from)
    }

    /// Takes a flow out of its coflow.
    pub(crate) fn withdraw(&mut self, flow: FlowId, sent: f64) -> MovedFlow {
        let FlowId { coflow: id, index } = flow;
        let coflow = self.state.coflow(id);
        let (demand, number) = (coflow.demand(), coflow.flow_number(index));
        let position = demand.position(index);
        let is_active = demand.is_active(position);
        let (egress, ingress) = demand.end_links(position);
        let port = |link| self.state.fabric().port_of(link).expect("an end of a path");
        let bytes = coflow.progress().size[position];
        let spec = FlowSpec { src: port(egress), dst: port(ingress), bytes };
        if is_active {
            let drained = &mut self.ended.drained;
            self.state.withdraw(flow, sent, |link| drained.push((id, link)));
            self.stop_serving(id, position);
            if self.state.coflow(id).is_over() {
                self.ended.complete.push(id);
            }
        }
        MovedFlow { spec, number, from: Some(flow), sent, is_active, is_suspended: false }
    }

    /// Takes an unfinished flow out of its coflow, with what it has sent as far as progress tells.
    /// It may be suspended, and is so where it goes.
    pub(crate) fn withdraw_unfinished(&mut self, flow: FlowId) -> MovedFlow {
        let coflow = self.state.coflow(flow.coflow);
        let position = coflow.demand().position(flow.index);
        let (sent, is_suspended) = (coflow.sent_at(position), coflow.is_suspended(flow.index));
        assert!(
            is_suspended || coflow.demand().is_active(position),
            "{flow:?} was put twice, or has ended"
        );
        if is_suspended {
            self.resume(flow);
        }
        MovedFlow { is_suspended, ..self.withdraw(flow, sent) }
    }

    /// A coflow that has left, and of which the policy was told, is forgotten; its id will be used
    /// again.
    pub(crate) fn forget(&mut self, id: CoflowId) {
        self.allocator.forget(&self.state, id);
        self.tenants.forget(&self.state, id);
        self.dags.remove(&(self.state.coflow(id).registration.lineage.external, id));
        self.state.release(id);
    }

    /// Marks the coflows that an event is about as dirty.
    pub(crate) fn mark_dirty(&mut self, event: Event) {
        match event {
            Event::Woke => self.state.note_event_everywhere(),
            Event::DagBytesReached(external, _) => {
                let from_dag = self.dags.from((external, CoflowId(0)));
                let of_dag = from_dag.take_while(|((dag, _), ())| *dag == external);
                for &((_, id), ()) in of_dag {
                    self.state.mark_dirty(id);
                }
            }
            Event::FlowMoved { from, to } => {
                let coflows = [Some(from), to].into_iter().flatten().map(|flow| flow.coflow);
                coflows.for_each(|id| self.state.mark_dirty(id));
            }
            _ => event.coflow().into_iter().for_each(|id| self.state.mark_dirty(id)),
        }
    }

    /// Has the allocator share the links as the plan says.
    pub(crate) fn share(&mut self, ranking: &Ranking) -> Result<(), PlanError> {
        if ranking.tenants.is_empty() {
            return self.allocator.allocate(&self.state, ranking);
        }
        self.tenants.share(&mut self.state, &mut self.allocator, &ranking.tenants)
    }
}
