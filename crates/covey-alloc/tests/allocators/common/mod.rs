//! Random networks and plans, and rates computed flow by flow from the definitions.

pub mod naive;
pub mod random;

use covey_alloc::Allocator;
use covey_alloc::reference::Flow;
use covey_core::state::{FlowSpec, Registration, State};
use covey_core::{CoflowId, Fabric, FlowId, PortId, TenantId};

/// A flow in short.
pub fn flow(src: u32, dst: u32, bytes: f64) -> FlowSpec {
    FlowSpec { src: PortId(src), dst: PortId(dst), bytes }
}

/// A network with coflows whose flows have all started, and their specifications.
pub struct World {
    pub state: State,
    /// The specifications, by [`CoflowId`].
    specs: Vec<Vec<FlowSpec>>,
}

impl World {
    pub fn new(fabric: Fabric, coflows: &[Vec<FlowSpec>]) -> World {
        let mut world = World { state: State::new(fabric), specs: Vec::new() };
        for flows in coflows {
            world.arrive(flows);
        }
        world
    }

    /// A coflow arrives and starts all its flows.
    pub fn arrive(&mut self, flows: &[FlowSpec]) -> CoflowId {
        self.arrive_for(TenantId::default(), flows)
    }

    /// The same for a coflow of a tenant.
    pub fn arrive_for(&mut self, tenant: TenantId, flows: &[FlowSpec]) -> CoflowId {
        let registration = Registration { tenant, ..Registration::default() };
        let coflow = self.state.register(registration, flows.iter().copied());
        for index in 0..flows.len() as u32 {
            self.state.start(FlowId { coflow, index });
        }
        if self.specs.len() <= coflow.index() {
            self.specs.resize(coflow.index() + 1, Vec::new());
        }
        self.specs[coflow.index()] = flows.to_vec();
        coflow
    }

    /// Position of a flow in its coflow's demand.
    pub fn position(&self, flow: FlowId) -> usize {
        self.state.coflow(flow.coflow).demand().position(flow.index)
    }

    /// Ends a flow, and its coflow with the last one, as a driver does.
    pub fn end(&mut self, flow: FlowId, allocator: &mut Allocator) {
        let (id, position) = (flow.coflow, self.position(flow));
        self.state.finish(id, position, |_| {});
        allocator.touch(id);
        allocator.adjust(&self.state, id, position, -1.0);
        if self.state.coflow(id).is_over() {
            self.state.retire(id);
            allocator.forget(&self.state, id);
            self.state.release(id);
        }
    }

    /// Sends `share` of the bytes left of one flow, out of proportion to the others of its coflow.
    pub fn send(&mut self, flow: FlowId, share: f64, allocator: &mut Allocator) {
        let position = self.position(flow);
        let (demand, progress) = self.state.progress_mut(flow.coflow);
        let sent = progress.left[position] * share;
        progress.left[position] -= sent;
        demand.path(position).for_each(|l| progress.link_left[l] -= sent);
        allocator.touch(flow.coflow);
    }

    /// Unfinished flows in the order of greedy rules: coflow by coflow, sender by sender in order
    /// of the senders' first flows, then as registered.
    pub fn flows(&self) -> Vec<Flow> {
        let fabric = self.state.fabric();
        let mut flows = Vec::new();
        for &coflow in self.state.present() {
            let specs = &self.specs[coflow.index()];
            let first_of_sender = |src| specs.iter().position(|f| f.src == src);
            let mut order: Vec<usize> = (0..specs.len()).collect();
            order.sort_by_key(|&index| first_of_sender(specs[index].src));
            for index in order {
                let id = FlowId { coflow, index: index as u32 };
                let (position, spec) = (self.position(id), specs[index]);
                let state = self.state.coflow(coflow);
                if state.demand().is_active(position) {
                    let ends = [fabric.egress(spec.src), fabric.ingress(spec.dst)];
                    let mut path = ends.to_vec();
                    fabric.inner_path(spec.src, spec.dst, 0, &mut path);
                    let path = path.iter().map(|link| link.index()).collect();
                    let left = state.progress().left[position] * state.progress().scale;
                    flows.push(Flow { id, path, size: spec.bytes, left });
                }
            }
        }
        flows
    }

    /// The rates an allocator has decided, in the order of [`World::flows`].
    pub fn rates(&self, allocator: &Allocator) -> Vec<f64> {
        let rate = |flow: &Flow| {
            allocator.rates().rate(&self.state, flow.id.coflow, self.position(flow.id))
        };
        self.flows().iter().map(rate).collect()
    }
}

/// Bytes per second that `flows` at `rates` send over each of `links` links.
pub fn load(flows: &[Flow], rates: &[f64], links: usize) -> Vec<f64> {
    let mut load = vec![0.0; links];
    for (flow, rate) in flows.iter().zip(rates) {
        flow.path.iter().for_each(|&l| load[l] += rate);
    }
    load
}
