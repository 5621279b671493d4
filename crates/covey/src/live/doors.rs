//! The options of quotas of connections.

use std::time::Duration;

use clap::Args;
use covey_door::Limits;

use crate::failure::Failure;
use crate::live::process;
use crate::quantity;

/// Quotas of connections of a coordinator.
#[derive(Debug, Args)]
pub struct Doors {
    /// Maximum number of connections of clients
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_clients: usize,
    /// Maximum number of connections of clients from one address (IPv6: from one /64) [default: a
    /// quarter of --max-clients]
    #[arg(long, value_name = "N")]
    max_clients_per_peer: Option<usize>,
    #[command(flatten)]
    agents: AgentDoor,
}

/// Quotas of connections of agents.
#[derive(Debug, Args)]
pub struct AgentDoor {
    /// Maximum number of connections of agents
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    max_agents: usize,
    /// Maximum number of connections of agents from one address (IPv6: from one /64) [default: a
    /// quarter of --max-agents]
    #[arg(long, value_name = "N")]
    max_agents_per_peer: Option<usize>,
    /// Maximum number of connections, of each kind, that have shown no credential; the oldest make
    /// room for others [default: half of the maximum of connections of this kind]
    #[arg(long, value_name = "N")]
    max_unauthenticated: Option<usize>,
    /// Time in which a connection has to show a credential, from its beginning on
    #[arg(long, value_name = "TIME", default_value = "10s")]
    auth_timeout: String,
}

/// The shortest and the longest time in which a connection may have to show a credential.
const PATIENCE: [&str; 2] = ["10ms", "60min"];

impl Doors {
    /// The limits for clients.
    pub fn clients(&self) -> Result<Limits, Failure> {
        let Doors { max_clients, max_clients_per_peer, agents } = self;
        let most = ("--max-clients", *max_clients, process::MAX_CONNECTIONS);
        agents.with(most, ("--max-clients-per-peer", *max_clients_per_peer))
    }

    /// The limits for agents.
    pub fn agents(&self) -> Result<Limits, Failure> {
        self.agents.limits(process::MAX_CONNECTIONS)
    }
}

impl AgentDoor {
    /// The limits for agents, of which there may be at most so many.
    pub fn limits(&self, most: usize) -> Result<Limits, Failure> {
        let most = ("--max-agents", self.max_agents, most);
        self.with(most, ("--max-agents-per-peer", self.max_agents_per_peer))
    }

    fn with(
        &self,
        (max_name, max, most): (&str, usize, usize),
        (per_peer_name, per_peer): (&str, Option<usize>),
    ) -> Result<Limits, Failure> {
        let max = quantity::within(max_name, max, 1..=most)?;
        let per_peer = per_peer.unwrap_or(max.div_ceil(4));
        let silent = self.max_unauthenticated.unwrap_or(max.div_ceil(2));
        let patience_s = quantity::time_within("--auth-timeout", &self.auth_timeout, PATIENCE)?;
        Ok(Limits {
            max,
            max_per_peer: quantity::within(per_peer_name, per_peer, 1..=process::MAX_CONNECTIONS)?,
            max_unauthenticated: quantity::within(
                "--max-unauthenticated",
                silent,
                1..=process::MAX_CONNECTIONS,
            )?,
            patience: Duration::from_secs_f64(patience_s),
        })
    }
}
