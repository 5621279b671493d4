//! What connections of agents and relays have in common: what they share, and what becomes of those that may not join.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use covey_proto::{ProtoError, Refusal};
use tokio::sync::mpsc;

use super::command::Command;
use super::metrics::count;
use super::shared::Shared;
use crate::connections::Admission;

/// What all connections share.
pub(super) struct Agents {
    pub commands: mpsc::Sender<Command>,
    pub shared: Arc<Shared>,
    pub admission: Admission,
    pub next_session: AtomicU64,
    pub epoch: u64,
    /// How often agents and relays are to say something, in seconds.
    pub heartbeat_s: f64,
    /// After how long without a word a relay is taken for lost.
    pub patience: Duration,
}

/// Counts and logs that somebody may not join.
pub(super) fn refused(
    agents: &Agents,
    refusal: Refusal,
    who: &str,
    peer: SocketAddr,
    port: Option<u32>,
) {
    count(&agents.shared.refused.credentials);
    tracing::warn!(%peer, port, ?refusal, "{who} was refused");
}

/// Counts bytes that are no message.
pub(super) fn garbage(agents: &Agents, error: ProtoError) -> io::Error {
    count(&agents.shared.refused.garbage);
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Tells the decision thread something.
pub(super) async fn tell(agents: &Agents, command: Command) -> io::Result<()> {
    agents.commands.send(command).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}
