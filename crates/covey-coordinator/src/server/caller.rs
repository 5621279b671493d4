//! Who asks: what is known of a client besides its request.

use std::net::SocketAddr;
use std::sync::Arc;

/// Who asks. Each request has it among its extensions.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// The name of the token that was shown, if tokens have names.
    pub token: Option<Arc<str>>,
}
