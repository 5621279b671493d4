//! What is compressed: as the plan says, where that pays (Swallow, IPDPS 2018, Eq. 3).
//!
//! Live, a flow is compressed chunk by chunk while it is sent. So none waits for a processor, and of its
//! volume `V = d + D` nothing is compressed and not sent yet: `V = d`, the bytes of it that have not been
//! sent. What it has *sent* are bytes on the wire, as in the simulator.
//!
//! Each agent says how fast the compressor is on its host, how small it makes things, and what share of
//! a processor is idle there. The policy is told the mean of the former; by what a host is slower or
//! faster, less or more of its processor is there.

use covey_core::{Codec, CoflowId, Compression, PortId};
use covey_proto::Processor;

use super::Core;

impl Core {
    /// A host has said what it has for compressing.
    pub(super) fn processor(&mut self, port: u32, processor: &Processor) {
        let Some(codec) = self.config.codec else { return };
        let agent = &mut self.agents[port as usize];
        agent.idle = processor.share;
        if let Some(found) = processor.compressors.iter().find(|it| it.codec == codec) {
            agent.compressor = Some(*found);
        }
        self.processors_changed = true;
    }

    /// Tells the policy what hosts have said, and has what pays decided anew.
    pub(super) fn follow_processors(&mut self) {
        if !std::mem::take(&mut self.processors_changed) {
            return;
        }
        let known = || self.agents.iter().filter_map(|agent| agent.compressor);
        let count = known().count().max(1) as f64;
        let codec = Codec {
            speed: known().map(|it| it.speed).sum::<f64>() / count,
            ratio: known().map(|it| it.ratio).sum::<f64>() / count,
        };
        if codec.speed > 0.0 && self.codec.replace(codec) != Some(codec) {
            self.driver.codec_measured(codec);
        }
        for (port, agent) in (0..).zip(&self.agents) {
            // Who has said nothing compresses nothing.
            let share = agent.compressor.map_or(0.0, |it| agent.idle * it.speed / codec.speed);
            self.driver.set_processor(PortId(port), share);
        }
        self.stirred = true;
        self.publish_all = true;
    }

    /// Takes over how coflows are to be compressed by a new plan. Returns those for which that has changed.
    pub(super) fn compress_anew(&mut self) -> Vec<CoflowId> {
        if self.config.codec.is_none() {
            return Vec::new();
        }
        let state = self.driver.state();
        let mut asked: Vec<Option<Compression>> = vec![None; state.slots()];
        for (id, compression) in self.driver.ranking().compressed(state.present()) {
            // Nothing is sent raw beside what is compressed, so that it has to pay.
            let compression = Compression { overlap: false, ..compression };
            asked[id.index()].get_or_insert(compression);
        }
        let mut changed = Vec::new();
        for coflow in self.coflows.present.values_mut() {
            let asked = asked[coflow.id.index()];
            if std::mem::replace(&mut coflow.compression, asked) != asked {
                changed.push(coflow.id);
            }
        }
        changed
    }
}
