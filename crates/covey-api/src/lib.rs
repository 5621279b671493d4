//! The types of the coordinator's REST API: what clients send and what they get back.
//!
//! The coordinator serves these types, writes the specifications among them to its journal, and the
//! client library reads them. The crate does no I/O, except for the `client` of the API and the
//! `Credentials` that it shows, which a feature adds.

#[cfg(feature = "client")]
mod acl;
#[cfg(feature = "client")]
mod agent_tls;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod credential_error;
#[cfg(feature = "client")]
mod credentials;
#[cfg(feature = "client")]
mod endpoint;
mod limits;
#[cfg(feature = "client")]
mod mac;
mod overview;
#[cfg(feature = "client")]
mod pem;
mod problem;
mod recording;
#[cfg(feature = "client")]
mod secret_file;
mod serde_integers;
mod serde_objects;
mod settings;
mod spec;
mod status;

pub use limits::{LimitError, Limits, Ports};
pub use overview::{CoordinatorStatus, FullLink, Waiting};
pub use problem::Problem;
pub use recording::{Did, Doing, RecordedCoflow, Recording, Sent};
pub use serde_objects::Object;
pub use settings::{Settings, SettingsStatus};
pub use spec::{CoflowSpec, Community, Flow, Move, Update};
pub use status::{
    AgentStatus, CoflowState, CoflowStatus, DrainStatus, FlowEnds, FlowRate, NearFlow, Page,
    Presence, RelayStatus, UnnamedFlow,
};

#[cfg(feature = "client")]
pub use agent_tls::AgentTls;
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Response};
#[cfg(feature = "client")]
pub use credential_error::CredentialError;
#[cfg(feature = "client")]
pub use credentials::{Credentials, read_token};
#[cfg(feature = "client")]
pub use endpoint::{Endpoint, EndpointError};
#[cfg(feature = "client")]
pub use mac::hmac_sha256;
#[cfg(feature = "client")]
pub use pem::{read_certificates, read_key, read_revocation_lists};
#[cfg(feature = "client")]
pub use secret_file::check_mode;
