//! Limits and times of a coordinator.

use covey_proto::{CodecName, FlowTokens};

/// Options of a coordinator: its limits and times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Seconds from one sign of life of an agent to the next.
    pub heartbeat_s: f64,
    /// Seconds of silence after which a host is taken for lost.
    pub lost_after_s: f64,
    /// Seconds after which a flow that has a rate and sends nothing loses it.
    pub idle_after_s: f64,
    /// Seconds after which a flow that no application has named is over if it sends nothing, though
    /// it may.
    pub silent_after_s: f64,
    /// Seconds for which a coflow is kept if its client does not say for how long.
    pub lease_s: f64,
    /// Seconds after which an expired coflow is removed, and a coflow that has gone is forgotten.
    pub forget_after_s: f64,
    /// Seconds from one report of an agent to the next, where the policy needs what flows have
    /// sent.
    pub report_every_s: f64,
    /// Whether agents report that often whatever the policy needs.
    pub reports_always: bool,
    /// The most coflows that may be present.
    pub max_coflows: usize,
    /// The most flows of a coflow, and the most flows that no application has named.
    pub max_flows: usize,
    /// The most changes that may wait for the journal.
    pub max_pending: usize,
    /// The most flows that a change is applied to at once: between these pieces others are served.
    pub piece: usize,
    /// The most coflows that are remembered after they have gone. The coordinator forgets those
    /// first that went first.
    pub max_gone: usize,
    /// The most expired coflows that stay present. The coordinator removes those first that expired
    /// first.
    pub max_expired: usize,
    /// What the policy compresses flows with, if it does.
    pub codec: Option<CodecName>,
    /// Whether flows prove themselves to the hosts that they begin with.
    pub flow_tokens: FlowTokens,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            heartbeat_s: 1.0,
            lost_after_s: 5.0,
            idle_after_s: 1.0,
            silent_after_s: 60.0,
            lease_s: 600.0,
            forget_after_s: 86_400.0,
            report_every_s: 0.008,
            reports_always: false,
            max_coflows: 100_000,
            max_flows: 1_000_000,
            max_pending: 10_000,
            piece: 4096,
            max_gone: 10_000,
            max_expired: 1_000,
            codec: None,
            flow_tokens: FlowTokens::On,
        }
    }
}
