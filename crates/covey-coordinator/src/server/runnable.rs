//! Policies as a coordinator can run them.

use covey_core::{AnyPolicy, Fabric};
use covey_proto::CodecName;

use super::config::ServeError;
use crate::state::{Config, CoordinatorState};

/// A policy that a coordinator can run.
pub(super) struct Runnable {
    name: String,
    policy: AnyPolicy,
    codec: Option<CodecName>,
}

impl Runnable {
    /// The policy with this name and these parameters.
    ///
    /// # Errors
    /// When there is none, or only the simulator can run it.
    pub fn named(name: &str) -> Result<Runnable, ServeError> {
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
        Ok(Runnable { name, policy: built.policy, codec })
    }

    /// A state that it decides on, made by `start` of a policy and settings.
    ///
    /// # Errors
    /// When it cannot decide on what is known.
    pub fn start(
        self,
        fabric: Fabric,
        config: Config,
        start: impl FnOnce(Fabric, AnyPolicy, Config) -> CoordinatorState,
    ) -> Result<CoordinatorState, ServeError> {
        let config = Config { codec: self.codec, ..config };
        if !matches!(self.policy, AnyPolicy::Unlabelled(_)) {
            return Ok(start(fabric, self.policy, config));
        }
        // It must not hear of named coflows, not even of those that have gone.
        let reader = covey_sched::build("fair")?.policy;
        let state = start(fabric.clone(), reader, config);
        match state.population().coflows {
            0 => Ok(state.with_policy(fabric, self.policy)),
            coflows => Err(ServeError::Named { policy: self.name, coflows }),
        }
    }
}
