//! What ends: flows, and coflows with their last flow.

use covey_core::{CoflowId, FlowId, Knowledge, Policy, Sender, Wants};

use super::rates::parts;
use super::{Ended, Engine, Run};
use crate::integration::{Integrator, Network};
use crate::outcome::CompressionOutcome;

impl Engine {
    /// Ends the flows that end at this moment.
    pub(super) fn end_flows(&mut self) {
        self.ending.clear();
        let (mut network, integration, _) = parts!(self);
        integration.find_ending(&mut network, &mut self.ending);
        for k in 0..self.ending.len() {
            let (id, position) = self.ending[k];
            // A flow with a rate of its own beside a level is found twice.
            if self.state.coflow(id).demand().is_active(position) {
                self.end_flow(id, position);
            }
        }
    }

    pub(super) fn end_flow(&mut self, id: CoflowId, position: usize) {
        let place = self.place_of[id.index()] as usize;
        let index = self.state.coflow(id).demand().index(position);
        let (mut network, integration, processors) = parts!(self);
        processors.flow_ended(id, position, &mut network, integration.coflows());
        let drained = &mut self.ended.drained;
        self.state.finish(id, position, |link| drained.push((id, link)));
        self.allocator.touch(id);
        self.allocator.adjust(&self.state, id, position, -1.0);
        self.outcome.flow_completion_s[self.first_flow[place] + index as usize] =
            self.now.as_secs();
        self.ended.flows.push(FlowId { coflow: id, index });
        if self.state.coflow(id).is_over() {
            self.ended.coflows.push(id);
            self.outcome.coflows[place].completion_s = self.now.as_secs();
            let compressed = self.state.coflow(id).compressed();
            if compressed.is_on() {
                let all = &mut self.outcome.compression;
                all.resize(self.outcome.coflows.len(), CompressionOutcome::default());
                all[place] = CompressionOutcome {
                    saved_bytes: compressed.saved(),
                    cpu_s: compressed.cpu_s(),
                };
            }
        }
    }

    /// Tells the policy what has ended, and lets ended coflows go. Returns whether it was told
    /// anything.
    pub(super) fn tell_ends<K: Knowledge>(
        &mut self,
        run: &Run<'_>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut ended = std::mem::take(&mut self.ended);
        let told = !ended.coflows.is_empty()
            || (wants.flow_ends && !ended.flows.is_empty())
            || (wants.port_drains && !ended.drained.is_empty());
        for &id in &ended.coflows {
            let (network, integration, _) = parts!(self);
            let sent = integration.sent(&network, id);
            self.state.report(id, sent, self.now);
            let lineage = self.state.coflow(id).registration.lineage;
            self.dags.end(lineage, id, sent);
            self.watch.add(Sender::Dag(lineage.external));
            self.state.retire(id);
        }
        if told {
            self.stir(&ended, wants);
            self.refresh(wants);
            let view = self.view();
            if wants.flow_ends {
                ended.flows.iter().for_each(|&flow| policy.flow_ended(flow, &view));
            }
            if wants.port_drains {
                // Flows that started at the same moment may use the link again.
                let drained = ended.drained.iter().filter(|(id, link)| {
                    self.state.coflow(*id).unfinished().unfinished_at(*link) == 0
                });
                drained.for_each(|&(id, link)| policy.port_drained(id, link, &view));
            }
            ended.coflows.iter().for_each(|&id| policy.coflow_ended(id, &view));
        }
        for &id in &ended.coflows {
            self.calendar.release_children(run.workload, self.place_of[id.index()], self.now);
            self.allocator.forget(&self.state, id);
            self.processors.forget(id);
            self.integration.coflows_mut().forget(id);
            self.state.release(id);
            self.done += 1;
        }
        ended.flows.clear();
        ended.drained.clear();
        ended.coflows.clear();
        self.ended = ended;
        told
    }

    /// Marks the coflows whose ends of flows the policy is told of.
    fn stir(&mut self, ended: &Ended, wants: Wants) {
        if wants.flow_ends {
            ended.flows.iter().for_each(|flow| self.state.stir(flow.coflow));
        }
        if wants.port_drains {
            ended.drained.iter().for_each(|&(id, _)| self.state.stir(id));
        }
    }
}
