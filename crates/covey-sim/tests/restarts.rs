//! Flows that lose the bytes sent and begin again, under every policy.

use std::ops::ControlFlow;

use crate::common::{COMPRESSED, Kind, cases, policies, policy, workload};
use covey_core::{Fabric, Time};
use covey_sim::{Observer, Round, simulate};
use covey_trace::{Restart, Workload};
use proptest::prelude::*;

/// Integrates the rates of every coflow.
struct Sent {
    since: Time,
    rates: Vec<f64>,
    bytes: Vec<f64>,
}

impl Observer for Sent {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        for (bytes, rate) in self.bytes.iter_mut().zip(&self.rates) {
            *bytes += rate * (round.now - self.since);
        }
        self.since = round.now;
        self.rates.fill(0.0);
        for flow in crate::common::served(round) {
            self.rates[flow.trace_index] += flow.rate;
        }
        ControlFlow::Continue(())
    }
}

fn with_restarts() -> impl Strategy<Value = Workload> {
    let at = prop::collection::vec(prop::option::weighted(0.4, 0.0..15.0), 1..20);
    (workload(Kind::Generic), at).prop_map(|(mut workload, at)| {
        let mut at = at.into_iter().cycle();
        for coflow in &mut workload.coflows {
            let flows = 0..coflow.flows.len() as u32;
            let restart = |flow| at.next().flatten().map(|at_s| Restart { flow, at_s });
            coflow.restarts = flows.filter_map(restart).collect();
        }
        workload
    })
}

proptest! {
    #![proptest_config(cases(30))]

    /// A restarted flow takes at least as long after its restart as it does alone. The bytes sent
    /// in all are every flow's size plus the lost bytes, at most one size each.
    #[test]
    fn lost_bytes_are_sent_again(workload in with_restarts()) {
        let fabric = Fabric::big_switch(workload.ports, 1.0).unwrap();
        for spec in policies().chain(COMPRESSED) {
            let is_compressed = COMPRESSED.contains(&spec);
            let trace_indices = workload.coflows.len();
            let mut sent =
                Sent { since: Time::ZERO, rates: vec![0.0; trace_indices], bytes: vec![0.0; trace_indices] };
            let outcome = simulate(&workload, &fabric, spec, &mut policy(spec), &mut sent).unwrap();
            let mut first = 0;
            for (trace_index, coflow) in workload.coflows.iter().enumerate() {
                let release_s = outcome.coflows[trace_index].release_s;
                let mut most_lost = 0.0;
                for restart in &coflow.restarts {
                    let flow = &coflow.flows[restart.flow as usize];
                    let end_s = outcome.flow_completion_s[first + restart.flow as usize];
                    if restart.at_s > flow.start_s && end_s > release_s + restart.at_s + 1e-6 {
                        let again_s = end_s - release_s - restart.at_s;
                        let wire = flow.bytes * if is_compressed { 0.5 } else { 1.0 };
                        prop_assert!(again_s >= wire - 1e-6, "{spec}: {again_s}");
                        most_lost += flow.bytes;
                    }
                }
                // Lost bytes that compression had saved were sent or saved again.
                let compression = outcome.compression.get(trace_index).copied().unwrap_or_default();
                let lost = sent.bytes[trace_index] + compression.saved_bytes - coflow.size_bytes();
                prop_assert!(lost >= -1e-5 && lost <= most_lost + 1e-5, "{spec}: {lost}");
                first += coflow.flows.len();
            }
        }
    }
}
