//! The enforcers: a file each, and the list that the command line and the tests find them by.

mod htb;
mod make;
mod nothing;
mod recorded;
mod setup;
mod sockets;

pub use htb::{Htb, Tree};
pub use make::MadeEnforcer;
#[cfg(test)]
pub(crate) use nothing::Nothing;
pub use setup::{EnforcerInfo, Setup, SetupError};

/// Every enforcer, in the order of the help text.
pub const ENFORCERS: [EnforcerInfo; 6] =
    [sockets::PACING, sockets::MARKS, sockets::BOTH, htb::INFO, nothing::INFO, recorded::INFO];
