//! Makes an enforcer from its description.

use std::sync::Arc;

use covey_proto::Means;
use tokio::sync::Notify;

use super::setup::{EnforcerInfo, Make, Setup, SetupError};
use crate::enforcer::Enforcer;
use crate::local::Local;

/// An enforcer that is ready.
pub struct MadeEnforcer {
    /// The enforcer.
    pub enforcer: Box<dyn Enforcer>,
    /// Notified when something has happened that the coordinator should know at once.
    pub woken: Arc<Notify>,
}

impl EnforcerInfo {
    /// Makes the enforcer. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// When a setting is missing or cannot be used.
    pub async fn make(&self, setup: &Setup) -> Result<MadeEnforcer, SetupError> {
        let local = match self.make {
            Make::Alone(make) => {
                return Ok(MadeEnforcer { enforcer: make(setup)?, woken: Arc::default() });
            }
            Make::Sockets(means) => listen(setup, means).await?,
            Make::Shaped(make) => {
                // Before applications are let in: rules that an earlier agent left behind would
                // slow them down.
                let shaper = make(setup)?;
                listen(setup, Means::Shaping).await?.with_shaper(shaper)
            }
        };
        let woken = local.ended();
        Ok(MadeEnforcer { enforcer: Box::new(local), woken })
    }
}

async fn listen(setup: &Setup, means: Means) -> Result<Local, SetupError> {
    let mut failed = SetupError::new("--socket", "expected a file, found none");
    let mut first = None;
    for path in &setup.sockets {
        let report_every = setup.report_every;
        match Local::listen_for(setup.socket, path, setup.port, means, report_every).await {
            Ok(local) => {
                if let Some((taken, error)) = first {
                    let socket = path.display();
                    tracing::warn!(%socket, %taken, %error, "the usual socket cannot be used: applications find this agent at its own");
                }
                return Ok(local);
            }
            Err(error) => {
                let problem = format!("{} cannot be used: {error}", path.display());
                failed = SetupError::new("--socket", problem);
                first.get_or_insert((path.display(), error));
            }
        }
    }
    Err(failed)
}
