//! What begins: coflows are released, their flows start, some of them anew.

use covey_core::state::{FlowSpec, Registration};
use covey_core::{CoflowId, FlowId, Knowledge, Policy, PortId, Wants};
use covey_trace::Workload;

use super::rates::parts;
use super::{Engine, Run};
use crate::integration::{Integrator, Network};

impl Engine {
    /// Releases coflows and starts flows whose time has come. Returns whether there were any.
    pub(super) fn begin<K: Knowledge>(
        &mut self,
        run: &Run<'_>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut told = false;
        while let Some(place) = self.calendar.pop_release(self.now) {
            let id = self.release(run.workload, place);
            self.refresh(wants);
            policy.coflow_arrived(id, &self.view());
            told = true;
        }
        while let Some((place, index)) = self.calendar.pop_start(self.now) {
            let id = self.id_of[place as usize];
            self.start(FlowId { coflow: id, index });
            self.state.stir(id);
            self.refresh(wants);
            policy.flows_started(id, &self.view());
            told = true;
        }
        while let Some((place, index)) = self.calendar.pop_restart(self.now) {
            let flow = FlowId { coflow: self.id_of[place as usize], index };
            if self.is_under_way(place, flow) {
                self.restart(flow);
                self.state.stir(flow.coflow);
                self.refresh(wants);
                policy.flow_restarted(flow, &self.view());
                told = true;
            }
        }
        told
    }

    /// Whether a flow of the coflow at `place` has started and not ended. The coflow may have left,
    /// and its number been given to another.
    fn is_under_way(&self, place: u32, flow: FlowId) -> bool {
        if self.outcome.coflows[place as usize].completion_s.is_finite() {
            return false;
        }
        let demand = self.state.coflow(flow.coflow).demand();
        demand.is_active(demand.position(flow.index))
    }

    /// Lets a flow that is under way begin anew.
    fn restart(&mut self, flow: FlowId) {
        let id = flow.coflow;
        if self.state.coflow(id).compressed().is_on() {
            let position = self.state.coflow(id).demand().position(flow.index);
            let (mut network, integration, processors) = parts!(self);
            processors.restart(id, position, &mut network, integration.coflows());
            self.hold_and_let_go();
        }
        let (mut network, integration, processors) = parts!(self);
        if integration.is_flow_level() {
            processors.settle_all(&mut network, integration.coflows());
        }
        integration.restart(&mut network, flow);
    }

    pub(super) fn release(&mut self, workload: &Workload, place: u32) -> CoflowId {
        let coflow = &workload.coflows[place as usize];
        let (lineage, inherited_bytes) = self.dags.of(place);
        let registration = Registration {
            seq: u64::from(place),
            arrival: self.now,
            weight: coflow.weight,
            deadline_s: coflow.deadline_s,
            lineage,
            inherited_bytes,
        };
        let flows = coflow.flows.iter().map(|f| FlowSpec {
            src: PortId(f.src),
            dst: PortId(f.dst),
            bytes: f.bytes,
        });
        let id = self.state.register(registration, flows);
        self.dags.begin(lineage, id);
        if self.place_of.len() <= id.index() {
            self.place_of.resize(id.index() + 1, 0);
        }
        self.integration.coflows_mut().admit(id, self.state.coflow(id), self.now);
        self.place_of[id.index()] = place;
        self.id_of[place as usize] = id;
        self.outcome.coflows[place as usize].release_s = self.now.as_secs();
        let first = self.first_flow[place as usize];
        for (index, flow) in coflow.flows.iter().enumerate() {
            let start = self.now + flow.start_s;
            self.outcome.flow_start_s[first + index] = start.as_secs();
            if start.due(self.now) {
                self.start(FlowId { coflow: id, index: index as u32 });
            } else {
                self.calendar.start_later(start, place, index as u32);
            }
        }
        let width = coflow.flows.len();
        for restart in coflow.restarts.iter().filter(|restart| (restart.flow as usize) < width) {
            self.calendar.restart_later(self.now + restart.at_s, place, restart.flow);
        }
        id
    }

    /// Starts a flow; one without bytes ends at once.
    pub(super) fn start(&mut self, flow: FlowId) {
        let id = flow.coflow;
        let position = self.state.coflow(id).demand().position(flow.index);
        let (mut network, integration, _) = parts!(self);
        integration.before_start(&mut network, id);
        network.state.start(flow);
        network.allocator.touch(id);
        network.allocator.adjust(network.state, id, position, 1.0);
        if network.state.coflow(id).progress().size[position] > 0.0 {
            integration.joined(&mut network, id, position);
        } else {
            self.end_flow(id, position);
        }
        self.processors.flow_started(id, position);
    }
}
