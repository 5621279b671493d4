//! Policies as a coordinator can run them.

use covey_core::{AnyPolicy, Fabric, TenantWeights, for_each_tenant};
use covey_proto::CodecName;

use super::config::{ServeError, Weights};
use crate::driver::Scheduler;
use crate::state::{Config, CoordinatorState};

/// A policy that a coordinator can run.
pub(super) struct Runnable {
    name: String,
    policy: AnyPolicy,
    tenants: Option<TenantWeights>,
    codec: Option<CodecName>,
}

impl Runnable {
    /// The policy with this name and these parameters; an instance for each tenant, if there are
    /// weights of tenants.
    ///
    /// # Errors
    /// When there is none, only the simulator can run it, it cannot serve tenants, or their weights
    /// are wrong.
    pub fn named(name: &str, weights: &Weights) -> Result<Runnable, ServeError> {
        let built = covey_sched::build(name)?;
        let wants = built.policy.wants();
        let name = name.to_owned();
        if !matches!(built.policy, AnyPolicy::Unlabelled(_)) {
            if wants.regroups {
                return Err(ServeError::Regroups(name));
            }
            if wants.progress {
                return Err(ServeError::SimulatedOnly(name));
            }
        }
        let codec = match built.compression {
            None => None,
            Some(compression) => {
                let codec = compression.codec.name().and_then(CodecName::named);
                Some(codec.ok_or_else(|| ServeError::Compresses(name.clone()))?)
            }
        };
        if weights.is_empty() {
            return Ok(Runnable { name, policy: built.policy, tenants: None, codec });
        }
        let mut tenants = TenantWeights::default();
        for (tenant, &weight) in weights {
            tenants.add(tenant, Ok(weight)).map_err(ServeError::Tenants)?;
        }
        let again = {
            let name = name.clone();
            move || covey_sched::build(&name).expect("a policy that was built").policy
        };
        let policy = for_each_tenant(tenants.weights().to_vec(), again);
        let serves = policy.ok().filter(|_| built.info.name != "fifo-flow");
        let policy = serves.ok_or_else(|| ServeError::NotForTenants(name.clone()))?;
        Ok(Runnable { name, policy, tenants: Some(tenants), codec })
    }

    /// A state that it decides on, made by `start` of a policy and settings.
    ///
    /// # Errors
    /// When it cannot decide on what is known.
    pub fn start(
        self,
        fabric: Fabric,
        config: Config,
        start: impl FnOnce(Fabric, Scheduler, Config) -> CoordinatorState,
    ) -> Result<CoordinatorState, ServeError> {
        let config = Config { codec: self.codec, ..config };
        if !matches!(self.policy, AnyPolicy::Unlabelled(_)) {
            let scheduler = Scheduler { policy: self.policy, tenants: self.tenants };
            return Ok(start(fabric, scheduler, config));
        }
        // A policy without labels must not hear of named coflows, not even of those that have gone.
        // So another policy reads the journal.
        let reader = covey_sched::build("fair")?.policy;
        let state = start(fabric.clone(), reader.into(), config);
        match state.population().coflows {
            0 => Ok(state.with_policy(fabric, self.policy)),
            coflows => Err(ServeError::Named { policy: self.name, coflows }),
        }
    }
}
