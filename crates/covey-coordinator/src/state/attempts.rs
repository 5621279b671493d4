//! Several attempts of one transfer, and flows that nobody needs any more.

use std::collections::{BTreeMap, BTreeSet};

use covey_api::{Flow as FlowSpec, Problem};
use covey_proto::FlowKey;

use super::coordinator::CoordinatorState;
use super::flows::{Flow, Stage};

/// The flows of a request, each with the size and the ratio of the flow of which it is another
/// attempt, if it has none of its own. `known` are the flows that the coflow has already.
pub(super) fn sized(flows: &[FlowSpec], known: &[FlowSpec]) -> Vec<FlowSpec> {
    let mut all = known.to_vec();
    for flow in flows {
        let first = flow.attempt.and_then(|of| all.get(of as usize));
        let bytes = flow.bytes.or(first.and_then(|first| first.bytes));
        let ratio = flow.ratio.or(first.and_then(|first| first.ratio));
        all.push(FlowSpec { bytes, ratio, ..*flow });
    }
    all.split_off(known.len())
}

/// Checks which attempts the flows in the list `at` of a request are. `known` are the flows that
/// the coflow has already.
pub(super) fn check_attempts(
    at: &str,
    flows: &[FlowSpec],
    known: &[FlowSpec],
) -> Result<(), Problem> {
    let sized = sized(flows, known);
    for (k, flow) in sized.iter().enumerate() {
        let Some(of) = flow.attempt else { continue };
        let at = format!("{at}[{k}].attempt");
        let Some(other) = known.iter().chain(&sized[..k]).nth(of as usize) else {
            let detail = format!("{at}: expected the index of an earlier flow, found {of}");
            return Err(Problem::invalid(detail));
        };
        if let (Some(bytes), Some(expected)) = (flow.bytes, other.bytes)
            && bytes != expected
        {
            let detail = format!("{at}: flow {of} has {expected} bytes, this one {bytes}");
            return Err(Problem::invalid(detail));
        }
    }
    Ok(())
}

impl CoordinatorState {
    /// The flows of a coflow as a request gives them.
    pub(super) fn specs(&self, serial: u64) -> Vec<FlowSpec> {
        let spec = |(_, flow): (u32, &Flow)| FlowSpec {
            ratio: flow.ratio,
            ..FlowSpec::new(flow.src, flow.dst, flow.bytes)
        };
        self.coflows.get(serial).map_or_else(Vec::new, |it| it.flows.iter().map(spec).collect())
    }

    /// The last flows of a coflow are these attempts. Those of transfers that are done are
    /// cancelled.
    pub(super) fn note_attempts(&mut self, serial: u64, flows: &[FlowSpec]) {
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        let first = (coflow.flows.len() - flows.len()) as u32;
        let attempts = (first..).zip(flows).filter_map(|(index, it)| Some((index, it.attempt?)));
        let attempts: Vec<(u32, u32)> = attempts.collect();
        for &(flow, of) in &attempts {
            coflow.flows.attempts.add(flow, of);
        }
        // Each transfer is looked at once, however many attempts of it there are.
        let flows = &coflow.flows;
        let transfer = |flow: u32| flows.attempts.transfer(flow);
        let transfers: BTreeMap<u32, u32> =
            attempts.iter().map(|&(flow, _)| (transfer(flow), flow)).collect();
        let carried = transfers.into_iter().filter(|(_, attempt)| flows.is_carried(*attempt));
        let done: BTreeSet<u32> = carried.map(|(transfer, _)| transfer).collect();
        let needless = attempts.iter().filter(|(flow, _)| done.contains(&transfer(*flow)));
        for flow in needless.map(|&(flow, _)| flow).collect::<Vec<_>>() {
            self.cancel(FlowKey { coflow: serial, flow });
        }
    }

    /// A flow has ended with so many bytes: its receiver has them all. Other attempts of its
    /// transfer are cancelled.
    pub(super) fn flow_ended(&mut self, key: FlowKey, bytes: f64, wire: f64) {
        if self.coflows.flow(key).is_none_or(|flow| flow.stage == Stage::Ended) {
            return;
        }
        self.finish(key, bytes, wire);
        let Some(coflow) = self.coflows.get(key.coflow) else { return };
        let others: Vec<u32> = coflow.flows.attempts.others(key.flow).collect();
        others.into_iter().for_each(|flow| self.cancel(FlowKey { flow, ..key }));
    }

    /// Nobody needs a flow any more: it ends with what it has sent, and its agent is told.
    pub(super) fn cancel(&mut self, key: FlowKey) {
        // A repaired journal may lack the record that added the flow.
        let flow = self.coflows.flow(key).filter(|flow| flow.stage != Stage::Ended);
        let Some(flow) = flow else { return };
        self.withdraw(key);
        self.finish(key, flow.sent, flow.wire);
        let Some(coflow) = self.coflows.get_mut(key.coflow) else { return };
        coflow.flows.note_cancelled(key.flow);
        self.tell_cancelled(key);
    }

    /// Tells its agent that a flow has been cancelled. An agent that is not there is told when it
    /// joins.
    pub(super) fn tell_cancelled(&mut self, key: FlowKey) {
        let Some(coflow) = self.coflows.get(key.coflow) else { return };
        let Some(Flow { src, .. }) = coflow.flows.get(key.flow) else { return };
        let told = (coflow.flows.id_of(key.flow), coflow.flows.first_name(key));
        let agent = self.agents.get_mut(src);
        if agent.connection.session.is_some() {
            agent.letters.cancelled.push(told);
            self.agents.wake(src);
        }
    }
}
