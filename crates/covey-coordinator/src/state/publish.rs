//! After a plan: which agents have to be told what.

use covey_core::{CoflowId, Compression};
use covey_proto::{CodecName, FlowKey, Service};

use super::coordinator::CoordinatorState;
use super::flows::{Flow, Served};
use crate::driver::Driver;

impl CoordinatorState {
    /// Finds out what has changed for which agent: rates and, when there is another plan, layers.
    pub(super) fn publish(&mut self, replanned: bool) {
        let compression = if replanned { self.follow_compression() } else { Vec::new() };
        let rates = self.driver.rates();
        // Plans over all flows have no rates by coflow, so that every coflow has to be looked at.
        let flow_level = rates.is_flow_level();
        let groups = self.dirty.take_groups();
        let all = self.dirty.take_all_rates() || flow_level;
        if flow_level {
            self.dirty.note_all_rates();
        }
        let changed: Vec<CoflowId> = if all {
            self.driver.state().present().to_vec()
        } else {
            let present = |id: &&CoflowId| self.driver.state().is_present(**id);
            rates
                .changed()
                .iter()
                .chain(&compression)
                .chain(&groups)
                .filter(present)
                .copied()
                .collect()
        };
        self.effects.counts.looked_at += changed.len() as u64;
        for id in changed {
            self.publish_rates(id);
        }
        if replanned {
            self.publish_layers();
        }
    }

    /// Tells of the flows of a coflow whose rates or codecs have changed.
    fn publish_rates(&mut self, id: CoflowId) {
        let serial = self.coflows.serial(id);
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        let codec = self.config.codec.zip(coflow.compression);
        let served = served(&self.driver, id, codec, &coflow.remaining);
        let by_index = served.iter().map(|served| (served.flow, *served)).collect();
        let before = std::mem::replace(&mut coflow.served, by_index);
        let (mut old, mut new) = (before.into_values().peekable(), served.into_iter().peekable());
        loop {
            let none = |flow: u32| Served { flow, rate: 0.0, codec: None };
            let change = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) if a == b => {
                    old.next();
                    new.next();
                    continue;
                }
                (Some(a), Some(b)) if a.flow < b.flow => none(a.flow),
                (Some(a), None) => none(a.flow),
                (_, Some(b)) => *b,
                (None, None) => break,
            };
            old.next_if(|next| next.flow == change.flow);
            new.next_if(|next| next.flow == change.flow);
            self.publish_flow(serial, change);
        }
    }

    /// Tells of flows whose layers have changed, even if their rates have not.
    fn publish_layers(&mut self) {
        let changed = self.driver.layers().changed().to_vec();
        self.effects.counts.looked_at += changed.len() as u64;
        for id in changed {
            let serial = self.coflows.serial(id);
            self.turn_changed(serial);
            let Some(coflow) = self.coflows.get(serial) else { continue };
            for change in coflow.served.clone().into_values() {
                self.publish_flow(serial, change);
            }
        }
    }

    pub(super) fn publish_flow(&mut self, serial: u64, Served { flow, rate, codec }: Served) {
        let Some(coflow) = self.coflows.get(serial) else { return };
        let Some(Flow { src, dst, .. }) = coflow.flows.get(flow) else { return };
        let layer = self.driver.layers().of(coflow.policy_flow(flow));
        let name = coflow.flows.first_name(FlowKey { coflow: serial, flow });
        let id = coflow.flows.id_of(flow);
        // Also of a flow that is left alone the agent is told: it reports when one does not use its
        // rate.
        if self.rounds.trusts_groups {
            self.agents.want(src, id, name, dst, Service { layer, rate, codec });
        }
    }
}

/// The flows of a coflow that have rates, by index; and the codec that compresses each, where that
/// pays. `remaining` is what coflows before leave of its links, if compressing is compared with
/// that.
fn served(
    driver: &Driver,
    id: CoflowId,
    codec: Option<(CodecName, Compression)>,
    remaining: &[f64],
) -> Vec<Served> {
    let (state, rates) = (driver.state(), driver.rates());
    let demand = state.coflow(id).demand();
    let mut flows = Vec::new();
    rates.rates().flow_rates(state, id, &mut flows);
    // Rounding leaves rates that are none.
    let min = 1e-9 * state.fabric().capacity().iter().copied().fold(0.0, f64::max);
    let codec_of = |position: usize| {
        let (name, compression) = codec?;
        let bandwidth = match remaining {
            [] => state.path_capacity(id, position),
            remaining => demand.path(position).map(|l| remaining[l]).fold(f64::INFINITY, f64::min),
        };
        state.compressing_pays(id, position, &compression, bandwidth).then_some(name)
    };
    let flows = flows.iter().filter(|flow| flow.rate > min).map(|flow| {
        let position = flow.position as usize;
        Served { flow: demand.index(position), rate: flow.rate, codec: codec_of(position) }
    });
    let mut served: Vec<Served> = flows.collect();
    served.sort_unstable_by_key(|served| served.flow);
    served
}
