//! Another policy that is about to begin.

use covey_api::Settings;

use super::command::{Changed, Command};
use super::runnable::Runnable;

/// Another policy is about to begin.
pub(super) struct Switch {
    pub policy: Runnable,
    /// All settings that count from then on.
    pub settings: Settings,
    pub changed: Changed,
    /// What has been asked and reported meanwhile.
    pub held: Vec<Command>,
}
