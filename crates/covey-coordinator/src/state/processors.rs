//! What is compressed: what the plan says, where it pays (Swallow, IPDPS 2018, Eq. 3).
//!
//! Live, a flow is compressed chunk by chunk while it is sent. So no flow waits for a processor,
//! and nothing of its volume `V = d + D` is compressed and not sent yet: `V = d`, its bytes that
//! have not been sent. What it has *sent* are bytes on the wire, as in the simulator.
//!
//! Each agent reports how fast the compressor is on its host, how small it makes things, and what
//! share of a processor is idle. The policy is told the means of speed and ratio. A host that is
//! slower or faster than the mean counts as one with less or more of a processor.

use covey_core::{Codec, CoflowId, Compression, PortId, Remaining};
use covey_proto::Processor;

use super::coordinator::CoordinatorState;

impl CoordinatorState {
    /// A host has reported what it has for compressing.
    pub(super) fn processor(&mut self, port: u32, reported: &Processor) {
        let Some(codec) = self.config.codec else { return };
        let host = &mut self.agents.get_mut(port).processor;
        host.idle = reported.share;
        if let Some(found) = reported.compressors.iter().find(|it| it.codec == codec) {
            host.compressor = Some(*found);
        }
        self.dirty.note_processors();
    }

    /// Tells the policy what hosts have reported, and has it decided again what pays.
    pub(super) fn follow_processors(&mut self) {
        if !self.dirty.take_processors() {
            return;
        }
        let known = || self.agents.iter().filter_map(|(_, agent)| agent.processor.compressor);
        let count = known().count().max(1) as f64;
        let codec = Codec {
            speed: known().map(|it| it.speed).sum::<f64>() / count,
            ratio: known().map(|it| it.ratio).sum::<f64>() / count,
        };
        if codec.speed > 0.0 && self.codec.replace(codec) != Some(codec) {
            self.driver.codec_measured(codec);
        }
        for (port, agent) in self.agents.iter() {
            let host = agent.processor;
            // A host that has reported nothing compresses nothing.
            let share = host.compressor.map_or(0.0, |it| host.idle * it.speed / codec.speed);
            self.driver.set_processor(PortId(port), share);
        }
        self.dirty.note_event();
        self.dirty.note_all_rates();
    }

    /// Takes over how a new plan compresses coflows. Returns those for which that has changed.
    pub(super) fn follow_compression(&mut self) -> Vec<CoflowId> {
        if self.config.codec.is_none() {
            return Vec::new();
        }
        let state = self.driver.state();
        let mut wanted: Vec<(Option<Compression>, Vec<f64>)> =
            vec![Default::default(); state.slots()];
        let mut remaining = Remaining::default();
        remaining.begin(state);
        for (id, compression) in self.driver.ranking().compressed(state.present()) {
            let (of_coflow, links) = &mut wanted[id.index()];
            if of_coflow.is_some() {
                continue;
            }
            // Nothing is sent raw beside what is compressed, so that it has to pay.
            let compression = Compression { overlap: false, ..compression };
            *of_coflow = Some(compression);
            if compression.follows_others() {
                let demand = state.coflow(id).demand();
                links.extend(demand.links().iter().map(|&link| remaining.at(link)));
                // A flow is sent while it is compressed.
                remaining.take(demand, demand.active());
            }
        }
        let mut changed = Vec::new();
        for serial in self.coflows.serials() {
            let Some(coflow) = self.coflows.get(serial) else { continue };
            let (compression, remaining) = std::mem::take(&mut wanted[coflow.id.index()]);
            if coflow.compression == compression && coflow.remaining == remaining {
                continue;
            }
            changed.push(coflow.id);
            if let Some(coflow) = self.coflows.get_mut(serial) {
                (coflow.compression, coflow.remaining) = (compression, remaining);
            }
        }
        changed
    }
}
