//! What a coordinator is to be, and why it cannot be that.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use covey_api::CredentialError;
use covey_door::Limits;
use covey_sched::SpecError;
use thiserror::Error;

use crate::journal::JournalError;
use crate::state::Config;

/// Weights of tenants by name; none if links are not divided among tenants.
pub type Weights = BTreeMap<String, f64>;

/// What a coordinator is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// The folder with its journal and its credentials.
    pub folder: PathBuf,
    /// The policy, by name and parameters.
    pub policy: String,
    /// The weights of tenants.
    pub tenants: Weights,
    /// The fabric: a big switch with so many ports.
    pub ports: u32,
    /// Bytes per second of each port.
    pub port_rate: f64,
    /// Whether clients may change nothing.
    pub read_only: bool,
    /// Where clients connect.
    pub clients: SocketAddr,
    /// Where agents connect.
    pub agents: SocketAddr,
    /// Limits and times.
    pub core: Config,
    /// Where only probes connect: an address of their own, if they are to have one.
    pub health: Option<SocketAddr>,
    /// Limits of connections of clients.
    pub client_limits: Limits,
    /// Limits of connections of agents.
    pub agent_limits: Limits,
    /// The time that the body of a request may take.
    pub body_patience: Duration,
    /// The most requests of clients a second.
    pub max_requests_per_s: u32,
    /// The journal is compacted when it is longer than this, in bytes.
    pub compact_above: u64,
    /// The file for the audit log, if there is to be one.
    pub audit_log: Option<PathBuf>,
    /// Length of the intervals for which CPU is reported, in seconds (Philae, Tables 6 and 7).
    pub interval_s: f64,
}

/// Why a coordinator cannot start, or go on.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The policy does not exist.
    #[error(transparent)]
    Policy(#[from] SpecError),
    /// The fabric is impossible.
    #[error(transparent)]
    Fabric(#[from] covey_core::FabricError),
    /// The policy compresses flows with something that agents do not have.
    #[error(
        "policy {0} compresses flows: expected one of lz4, snappy, zstd, lzf, which agents have"
    )]
    Compresses(String),
    /// The policy has to know what each flow has sent, which agents do not report.
    #[error(
        "policy {0} decides at receivers of flows, which only the simulator has: expected a policy of a coordinator, such as covey, aalo or sebf"
    )]
    SimulatedOnly(String),
    /// The policy puts flows of named coflows into groups of its own.
    #[error(
        "policy {0} puts flows of coflows that applications name into groups of its own, which only the simulator does: expected coda, which finds coflows, or aalo:queues=strict, which has the same queues"
    )]
    Regroups(String),
    /// The weights of tenants are wrong.
    #[error("tenants: {0}")]
    Tenants(String),
    /// The policy cannot serve tenants.
    #[error(
        "policy {0} cannot serve tenants: expected another one, such as covey, or no weights of tenants (coda finds coflows by itself, and fifo-flow needs to know when flows started)"
    )]
    NotForTenants(String),
    /// The policy finds coflows by itself, and the journal holds some that applications have named.
    #[error(
        "the journal has {coflows} coflows that applications have named, of which policy {policy} would not hear: expected a policy such as aalo until they have ended, or another folder"
    )]
    Named {
        /// The policy.
        policy: String,
        /// How many coflows are present.
        coflows: usize,
    },
    /// The credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The audit log cannot be written.
    #[error("audit log {}: {source}", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// Why it cannot be written.
        source: std::io::Error,
    },
    /// Without certificates clients and agents may connect from this machine only.
    #[error(
        "{0} is not a loopback address: expected certificates in the folder (covey serve --init)"
    )]
    Public(SocketAddr),
    /// The journal names ports that the fabric does not have.
    #[error("the journal has flows at port {found}: expected more than {ports} ports")]
    Ports {
        /// A port in the journal.
        found: u32,
        /// Ports of the fabric.
        ports: u32,
    },
    /// The thread that decides has ended, and nothing can be scheduled any more.
    #[error("the coordinator's decisions have ended; what it has answered is in the journal")]
    Ended,
    /// An address cannot be used, or a thread not be started.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl ServeError {
    /// Whether the user's arguments are to blame, rather than the machine.
    pub fn is_input(&self) -> bool {
        !matches!(self, ServeError::Ended | ServeError::Io { .. })
    }
}
