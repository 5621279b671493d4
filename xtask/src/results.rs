//! What `covey` prints as JSON, as far as measurements read it.

use serde::Deserialize;

use crate::Result;
use crate::program::Covey;

/// The object of `covey simulate --json`, and of a policy in `covey compare --json`.
#[derive(Debug, Deserialize)]
pub struct Summary {
    /// The policy as it was given.
    pub label: String,
    /// Ports of the trace.
    pub ports: u32,
    /// Coflows of the trace.
    pub coflows: u64,
    /// Flows of the trace.
    pub flows: u64,
    /// Coflow completion times.
    pub cct_s: Distribution,
    /// With `--bound`, no schedule has a smaller mean CCT.
    pub lower_bound_mean_cct_s: Option<f64>,
    /// How long the simulation took.
    pub wall_s: f64,
    /// What each tenant got.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
}

/// Statistics of times.
#[derive(Debug, Deserialize)]
pub struct Distribution {
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub p50: f64,
}

/// What a tenant got.
#[derive(Debug, Deserialize)]
pub struct Tenant {
    /// Its name.
    pub tenant: String,
    /// The mean CCT of its coflows.
    pub mean_cct_s: f64,
}

/// The object of `covey compare --json` and of `covey testbed --json`.
#[derive(Debug, Deserialize)]
pub struct Comparison {
    /// A summary of each policy, in the order in which they were given.
    pub results: Vec<Summary>,
}

/// A policy in the list of `covey policies --json`.
#[derive(Debug, Deserialize)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// What it knows: `sized`, `unsized` or `unlabelled`, followed by `, local` if ports decide.
    pub knows: String,
    /// What it does.
    pub summary: String,
    /// Where it is from.
    pub source: String,
}

impl Policy {
    /// All policies.
    pub fn all(covey: &Covey) -> Result<Vec<Self>> {
        covey.run(["policies", "--json"])?.json()
    }
}

impl Covey {
    /// The mean CCT of a policy on a trace, with more options.
    pub fn mean_cct_s(&self, trace: &str, policy: &str, more: &[&str]) -> Result<f64> {
        Ok(self.simulate(trace, policy, more)?.json::<Summary>()?.cct_s.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_is_read() -> Result {
        let summary: Summary = serde_json::from_str(
            r#"{
              "policy": "fair",
              "params": {},
              "port_rate_bps": 1000000000,
              "coflows": 10,
              "flows": 23497,
              "cct_s": {"mean": 4.950956441600144, "p50": 0.08808038400000753, "max": 46.18},
              "fct_s": {"mean": 7.889522774288589, "p50": 1.166016511999942, "max": 46.18},
              "lower_bound_mean_cct_s": null,
              "wall_s": 0.068791661,
              "label": "fair",
              "ports": 150,
              "tenants": [{"tenant": "honest", "coflows": 10, "mean_cct_s": 4.95}]
            }"#,
        )?;
        assert_eq!((summary.ports, summary.coflows, summary.flows), (150, 10, 23497));
        assert_eq!(
            (summary.cct_s.mean, summary.cct_s.p50),
            (4.950956441600144, 0.08808038400000753)
        );
        assert_eq!(summary.lower_bound_mean_cct_s, None);
        assert_eq!((&*summary.tenants[0].tenant, summary.tenants[0].mean_cct_s), ("honest", 4.95));
        Ok(())
    }

    #[test]
    fn a_policy_is_read() -> Result {
        let policy: Policy = serde_json::from_str(
            r#"{
              "name": "fair",
              "knows": "unsized",
              "params": [{"name": "compress", "default": "none", "help": "compress flows"}],
              "source": "Bertsekas and Gallager, Data Networks, 6.5",
              "summary": "exact per-flow max-min fairness"
            }"#,
        )?;
        assert_eq!((&*policy.name, &*policy.knows), ("fair", "unsized"));
        Ok(())
    }
}
