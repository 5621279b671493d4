//! Settings of a coordinator that change while it runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Settings of a coordinator that change while it runs: the body of `PATCH /v1/admin/settings`,
/// where what is not named stays as it is, and of its answer, which has all. They hold until the
/// coordinator is started again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The policy, with parameters that differ from their defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The weights of tenants, among whom links are divided; none if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<BTreeMap<String, f64>>,
    /// Whether clients may change nothing. Flows end as they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The most coflows at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_coflows: Option<usize>,
    /// The most flows of a coflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<usize>,
    /// The most coflows that are remembered after their leases have run out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_expired: Option<usize>,
    /// The most coflows that are remembered after they have gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_gone: Option<usize>,
    /// The most requests of all clients a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
    /// Seconds for which a coflow is kept whose client does not say for how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Seconds for which an expired coflow, or one that has gone, is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forget_after_s: Option<f64>,
    /// Seconds without a byte sent after which a flow loses its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_after_s: Option<f64>,
}

impl Settings {
    /// These, and what they do not name as in `others`.
    #[must_use]
    pub fn or(self, others: Settings) -> Settings {
        Settings {
            policy: self.policy.or(others.policy),
            tenants: self.tenants.or(others.tenants),
            read_only: self.read_only.or(others.read_only),
            max_coflows: self.max_coflows.or(others.max_coflows),
            max_flows: self.max_flows.or(others.max_flows),
            max_expired: self.max_expired.or(others.max_expired),
            max_gone: self.max_gone.or(others.max_gone),
            max_requests: self.max_requests.or(others.max_requests),
            lease_s: self.lease_s.or(others.lease_s),
            forget_after_s: self.forget_after_s.or(others.forget_after_s),
            idle_after_s: self.idle_after_s.or(others.idle_after_s),
        }
    }
}

/// The settings in force: the answer to `GET` and `PATCH /v1/admin/settings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingsStatus {
    /// All of them.
    pub settings: Settings,
    /// Coflows that the policy would need sizes of, and that have flows without: how many there
    /// are.
    pub coflows_without_sizes: usize,
    /// The first of these.
    pub without_sizes: Vec<u64>,
}
