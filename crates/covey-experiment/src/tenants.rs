//! Tenants who share the network of an experiment.

use std::collections::BTreeSet;

use covey_core::{AnyPolicy, TenantId, TenantWeights, for_each_tenant};
use covey_trace::Workload;

use crate::{Contender, Error, Setup};

const ARGUMENT: &str = "tenants";

/// Tenants, and whose each coflow is.
#[derive(Debug, Clone)]
pub(crate) struct Tenants {
    /// The coflows that the trace gives to nobody are those of the tenant without a name.
    pub weights: TenantWeights,
    /// By place in the trace.
    pub of_coflow: Vec<TenantId>,
}

impl Tenants {
    fn of(mut weights: TenantWeights, workload: &Workload) -> Tenants {
        let names = workload.coflows.iter().map(|coflow| coflow.tenant.as_deref());
        let of_coflow = names.map(|name| weights.number(name.unwrap_or_default())).collect();
        Tenants { weights, of_coflow }
    }

    /// The tenants who have coflows.
    fn present(&self) -> BTreeSet<TenantId> {
        self.of_coflow.iter().copied().collect()
    }

    /// The weight of a tenant of the trace.
    pub fn weight_of(&self, name: &Option<String>) -> Option<f64> {
        let name = name.as_deref().unwrap_or_default();
        let known = self.weights.names().iter().position(|known| known == name);
        known.map(|number| self.weights.weights()[number])
    }

    /// Divides the network among tenants: gives each an instance of a policy. One tenant alone gets
    /// the policy as it is.
    pub fn divide(
        &self,
        policy: AnyPolicy,
        again: Option<Box<dyn FnMut() -> AnyPolicy + Send>>,
        label: &str,
    ) -> Result<AnyPolicy, Error> {
        if self.present().len() <= 1 {
            return Ok(policy);
        }
        let Some(again) = again else {
            let expected = "a policy by its name, of which each tenant has an instance";
            return Err(Error::argument(
                ARGUMENT,
                expected,
                format!("{label}, which is one object"),
            ));
        };
        for_each_tenant(self.weights.weights().to_vec(), again).map_err(|_| {
            let found =
                format!("{label}, which finds coflows itself and does not see whose they are");
            Error::argument(ARGUMENT, "a policy that is told of coflows", found)
        })
    }
}

impl Setup {
    /// The tenants of a workload, if any share the network.
    ///
    /// # Errors
    /// If the weights are wrong, or the simulator is an emulated one.
    pub(crate) fn tenants_of(&self, workload: &Workload) -> Result<Option<Tenants>, Error> {
        Ok(self.weights()?.map(|weights| Tenants::of(weights, workload)))
    }

    /// The weights of tenants.
    pub(crate) fn weights(&self) -> Result<Option<TenantWeights>, Error> {
        let Some(text) = &self.tenants else { return Ok(None) };
        if let Some(simulator) = self.emulated {
            let found = format!("--sim {}", simulator.name());
            return Err(Error::argument(ARGUMENT, "the exact simulator with it", found));
        }
        let weights = TenantWeights::parse(text);
        weights.map(Some).map_err(|problem| Error::Argument { argument: ARGUMENT, problem })
    }

    /// What is guessed of the tenants of a workload: a line each.
    pub(crate) fn guessed_tenants(&self, workload: &Workload) -> Vec<String> {
        let Ok(Some(weights)) = self.weights() else { return Vec::new() };
        let given = weights.names().len();
        let tenants = Tenants::of(weights, workload);
        let present = tenants.present();
        if present.len() <= 1 {
            return vec!["tenants changes nothing: all coflows are of one tenant".to_owned()];
        }
        let mut lines = Vec::new();
        let name = |tenant: &TenantId| tenants.weights.names()[tenant.index()].as_str();
        let is_new = |tenant: &&TenantId| tenant.index() >= given;
        let unnamed = present.iter().filter(is_new).map(name).filter(|name| !name.is_empty());
        let unnamed: Vec<&str> = unnamed.collect();
        if !unnamed.is_empty() {
            lines.push(format!("no weight is given for {}: each has 1", unnamed.join(", ")));
        }
        let nobody = workload.coflows.iter().filter(|coflow| coflow.tenant.is_none()).count();
        if nobody > 0 {
            lines.push(format!(
                "{nobody} coflows are of no tenant: together they are one more, with weight 1"
            ));
        }
        let all = (0..given as u32).map(TenantId);
        let absent: Vec<TenantId> = all.filter(|tenant| !present.contains(tenant)).collect();
        if !absent.is_empty() {
            let absent: Vec<&str> = absent.iter().map(name).collect();
            lines.push(format!("no coflow is of {}", absent.join(", ")));
        }
        lines
    }
}

impl Contender {
    /// Adds what makes the policy again, for each tenant.
    #[must_use]
    pub(crate) fn made_by(
        mut self,
        again: impl FnMut() -> AnyPolicy + Send + 'static,
    ) -> Contender {
        self.again = Some(Box::new(again));
        self
    }
}
