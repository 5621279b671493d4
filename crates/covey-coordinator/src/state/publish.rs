//! After a plan: which agents have to be told what.

use covey_core::{CoflowId, Compression};
use covey_proto::{CodecName, FlowKey};

use super::assignments::Service;
use super::coordinator::CoordinatorState;
use super::flows::{Flow, Served};
use crate::driver::Driver;

impl CoordinatorState {
    /// Finds out what has changed for which agent: rates and, when there is another plan, layers.
    pub(super) fn publish(&mut self, replanned: bool) {
        let compression = if replanned { self.follow_compression() } else { Vec::new() };
        let rates = self.driver.rates();
        // Plans over all flows have no rates by coflow, so that every coflow has to be looked at.
        let together = rates.crowd().is_some() || rates.line().is_some();
        let all = self.dirty.take_all_rates() || together;
        if together {
            self.dirty.note_all_rates();
        }
        let changed: Vec<CoflowId> = if all {
            self.driver.state().present().to_vec()
        } else {
            let present = |id: &&CoflowId| self.driver.state().is_present(**id);
            rates.changed().iter().chain(&compression).filter(present).copied().collect()
        };
        self.effects.counts.looked_at += changed.len() as u64;
        for id in changed {
            self.publish_rates(id, together);
        }
        if replanned {
            self.publish_layers();
        }
    }

    /// Tells of the flows of a coflow whose rates or codecs have changed.
    fn publish_rates(&mut self, id: CoflowId, together: bool) {
        let serial = self.coflows.serial(id);
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        let codec = self.config.codec.zip(coflow.compression);
        let served = served(&self.driver, id, together, codec);
        let before = std::mem::replace(&mut coflow.served, served.clone());
        let (mut old, mut new) = (before.into_iter().peekable(), served.into_iter().peekable());
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
            let Some(coflow) = self.coflows.get(serial) else { continue };
            for change in coflow.served.clone() {
                self.publish_flow(serial, change);
            }
        }
    }

    fn publish_flow(&mut self, serial: u64, Served { flow, rate, codec }: Served) {
        let Some(coflow) = self.coflows.get(serial) else { return };
        let Some(Flow { src, dst, .. }) = coflow.flows.get(flow) else { return };
        let layer = self.driver.layers().of(coflow.policy_flow(flow));
        let key = FlowKey { coflow: serial, flow };
        let service = Service { layer, rate, codec };
        self.agents.want(src, coflow.flows.id_of(flow), key, dst, service);
    }
}

/// The flows of a coflow that have rates, by index; and what they are compressed with, where that pays.
fn served(
    driver: &Driver,
    id: CoflowId,
    together: bool,
    codec: Option<(CodecName, Compression)>,
) -> Vec<Served> {
    let (state, rates) = (driver.state(), driver.rates());
    let coflow = state.coflow(id);
    let demand = coflow.demand();
    let mut served: Vec<(u32, f64)> = Vec::new();
    if together {
        served.extend(demand.active().map(|p| (demand.index(p), rates.rate(state, id, p))));
    } else {
        let grant = rates.grant(id);
        let levels = grant.levels();
        let by_size = grant.by_size().filter(|by_size| by_size.highest > 0.0);
        if !levels.is_empty() || by_size.is_some() {
            for p in demand.active() {
                let level = match levels {
                    [] => 0.0,
                    _ => demand.path(p).map(|l| levels[l]).fold(f64::INFINITY, f64::min),
                };
                // What is left is not known where shares do not go by it.
                let share = by_size.map(|by_size| by_size.level(demand, p));
                let by_left = share.map_or(0.0, |share| coflow.progress().left[p] * share);
                served.push((demand.index(p), level + by_left));
            }
        }
        let singles = grant.singles().filter(|single| demand.is_active(single.position as usize));
        served.extend(singles.map(|s| (demand.index(s.position as usize), s.rate)));
    }
    served.sort_unstable_by_key(|&(flow, _)| flow);
    served.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    // Rounding leaves shares that are none.
    let least = 1e-9 * state.fabric().capacity().iter().copied().fold(0.0, f64::max);
    served.retain(|&(_, rate)| rate > least);
    let codec_of = |flow: u32| {
        let (name, compression) = codec?;
        state.compressing_pays(id, demand.position(flow), &compression).then_some(name)
    };
    served.into_iter().map(|(flow, rate)| Served { flow, rate, codec: codec_of(flow) }).collect()
}
