//! What connections of agents and relays share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc;

use super::command::Command;
use super::joined_relays::JoinedRelays;
use crate::connections::Admission;

/// What all connections share.
pub(super) struct Agents {
    pub commands: mpsc::Sender<Command>,
    pub admission: Admission,
    /// The relays that have joined.
    pub relays: Arc<JoinedRelays>,
    pub next_session: AtomicU64,
    pub epoch: u64,
    /// How often agents and relays are to say something, in seconds.
    pub heartbeat_s: f64,
    /// After how long without a word a relay is taken for lost.
    pub patience: Duration,
}

/// Tells the decision thread something.
pub(super) async fn tell(agents: &Agents, command: Command) -> io::Result<()> {
    agents.commands.send(command).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}
