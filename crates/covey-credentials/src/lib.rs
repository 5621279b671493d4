//! Credentials of a coordinator and of those who speak to it.
//!
//! An [`Authority`] is a private CA in a folder: it makes, lists and revokes the certificates of a
//! coordinator, its agents and relays. A [`TokenFile`] has the tokens of clients, with [`Rights`]
//! and limits. A process that runs keeps both in force as their files change: [`LiveTls`],
//! [`Tokens`] and [`FlowSecret`] are [`Watched`].

mod authority;
mod flow_secret;
mod hex;
mod reload;
mod tokens;

pub use authority::{
    AgentCertificates, Authority, Certificate, Issued, Listener, LiveTls, Owner, OwnerError,
    Serial, ServerTls, Tls, VALIDITY, is_name, speaks_for,
};
pub use flow_secret::FlowSecret;
pub use hex::hex;
pub use reload::{Reload, Watched};
pub use tokens::{
    Holder, NewToken, Right, Rights, RightsError, TokenEntry, TokenFile, TokenLimits, Tokens,
    is_tenant_name, is_token_name,
};
