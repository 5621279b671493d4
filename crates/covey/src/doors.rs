//! The options of quotas of connections.

use std::time::Duration;

use clap::Args;
use covey_door::Limits;

use crate::failure::Failure;
use crate::live;

/// Quotas of connections of a coordinator.
#[derive(Debug, Args)]
pub struct Doors {
    /// Maximum number of connections of clients
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_clients: usize,
    /// Maximum number of connections of clients from one address (IPv6: from one /64) [default: a quarter of
    /// --max-clients]
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
    /// Maximum number of connections of agents from one address (IPv6: from one /64) [default: a quarter of
    /// --max-agents]
    #[arg(long, value_name = "N")]
    max_agents_per_peer: Option<usize>,
    /// Maximum number of connections, of each kind, that have shown no credential; the oldest make room for others
    /// [default: half of the maximum of connections of this kind]
    #[arg(long, value_name = "N")]
    max_unauthenticated: Option<usize>,
    /// Time in which a connection has to show a credential, from its beginning on
    #[arg(long, value_name = "TIME", default_value = "10s")]
    auth_timeout: String,
}

impl Doors {
    /// The limits for clients.
    pub fn clients(&self) -> Result<Limits, Failure> {
        let (max, per_peer) = (self.max_clients, self.max_clients_per_peer);
        self.agents.limits(("--max-clients", max), ("--max-clients-per-peer", per_peer))
    }

    /// The limits for agents.
    pub fn agents(&self) -> Result<Limits, Failure> {
        self.agents.agents()
    }
}

impl AgentDoor {
    /// The limits for agents.
    pub fn agents(&self) -> Result<Limits, Failure> {
        let (max, per_peer) = (self.max_agents, self.max_agents_per_peer);
        self.limits(("--max-agents", max), ("--max-agents-per-peer", per_peer))
    }

    fn limits(
        &self,
        (max_name, max): (&str, usize),
        (per_peer_name, per_peer): (&str, Option<usize>),
    ) -> Result<Limits, Failure> {
        let max_per_peer = per_peer.unwrap_or(max.div_ceil(4));
        let max_unauthenticated = self.max_unauthenticated.unwrap_or(max.div_ceil(2));
        for (name, value) in [
            (max_name, max),
            (per_peer_name, max_per_peer),
            ("--max-unauthenticated", max_unauthenticated),
        ] {
            if value == 0 {
                return Err(Failure::argument(name, "at least 1", value));
            }
        }
        let patience = live::duration("--auth-timeout", &self.auth_timeout)?;
        if patience < Duration::from_millis(1) {
            let expected = "at least 1ms";
            return Err(Failure::argument("--auth-timeout", expected, &self.auth_timeout));
        }
        Ok(Limits { max, max_per_peer, max_unauthenticated, patience })
    }
}
