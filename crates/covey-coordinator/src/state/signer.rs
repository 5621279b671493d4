//! What flow tokens are signed with.

use covey_proto::{Key, Mac};

/// Signs with the keys that come from a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signer {
    pub secret: Key,
    pub mac: Mac,
}
