//! What tenants got.

use std::fmt::{self, Write};

use covey_trace::Workload;
use serde::{Deserialize, Serialize};

use crate::Run;
use crate::units::{counted, decimals, fixed};

/// The completion times of one tenant's coflows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantSummary {
    /// The tenant; `None` for the coflows that the trace gives to none.
    pub tenant: Option<String>,
    /// Its weight, if capacity was divided among tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Number of its coflows.
    pub coflows: usize,
    /// Their mean CCT in seconds.
    pub mean_cct_s: f64,
}

/// The tenants of a workload, in the order of their first coflows; none if it names none.
pub fn tenants(workload: &Workload) -> Vec<Option<String>> {
    let mut tenants: Vec<Option<String>> = Vec::new();
    for coflow in &workload.coflows {
        if !tenants.contains(&coflow.tenant) {
            tenants.push(coflow.tenant.clone());
        }
    }
    if tenants == [None] { Vec::new() } else { tenants }
}

impl TenantSummary {
    /// All tenants of a run.
    pub(crate) fn all(run: &Run<'_>) -> Vec<TenantSummary> {
        let of = |(k, tenant): (usize, Option<String>)| {
            let coflows = run.workload().coflows.iter().zip(run.ccts_s());
            let ccts_s = coflows.filter(|(coflow, _)| coflow.tenant == tenant).map(|(_, cct)| cct);
            let ccts_s: Vec<f64> = ccts_s.collect();
            TenantSummary {
                weight: run.info().tenant_weights.get(k).copied(),
                coflows: ccts_s.len(),
                mean_cct_s: ccts_s.iter().sum::<f64>() / ccts_s.len() as f64,
                tenant,
            }
        };
        tenants(run.workload()).into_iter().enumerate().map(of).collect()
    }

    fn name(&self) -> &str {
        self.tenant.as_deref().unwrap_or("no tenant")
    }

    /// Lines of text for the tenants of one run; none without tenants.
    pub(crate) fn write_all(all: &[TenantSummary], out: &mut impl Write) -> fmt::Result {
        let digits = decimals(all.iter().map(|tenant| tenant.mean_cct_s));
        for tenant in all {
            let (coflows, mean) = (counted(tenant.coflows, "coflow"), tenant.mean_cct_s);
            write!(out, "Mean CCT of {}: {} s, {coflows}", tenant.name(), fixed(mean, digits))?;
            match tenant.weight {
                Some(weight) => writeln!(out, ", weight {weight}.")?,
                None => writeln!(out, ".")?,
            }
        }
        Ok(())
    }

    /// Lines of text that compare runs, with the labels of these: one for each tenant.
    pub(crate) fn compare(runs: &[(&str, &[TenantSummary])], out: &mut impl Write) -> fmt::Result {
        let first = runs.first().map_or(&[][..], |(_, all)| all);
        for (k, tenant) in first.iter().enumerate() {
            let digits = decimals(runs.iter().map(|(_, all)| all[k].mean_cct_s));
            let mean = |(label, all): &(&str, &[TenantSummary])| {
                format!("{label} {}", fixed(all[k].mean_cct_s, digits))
            };
            let means: Vec<String> = runs.iter().map(mean).collect();
            let weight = tenant.weight.map(|weight| format!(", weight {weight}"));
            let weight = weight.unwrap_or_default();
            writeln!(out, "Mean CCT of {}{weight} (s): {}.", tenant.name(), means.join(", "))?;
        }
        Ok(())
    }
}
