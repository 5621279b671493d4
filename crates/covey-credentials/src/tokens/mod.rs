//! Tokens: named secrets with rights, which may expire. The folder has their hashes alone.
//!
//! The file `token` has one more, as a secret, with all rights: that of earlier versions.

mod file;
mod live;
mod rights;

pub use file::{NewToken, TokenEntry, TokenFile, is_tenant_name, is_token_name};
pub use live::{Holder, TokenLimits, Tokens};
pub use rights::{Right, Rights, RightsError};
