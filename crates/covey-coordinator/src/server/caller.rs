//! Who asks: what is known of a client besides its request.

use std::sync::Arc;

use covey_door::Guest;

use crate::tokens::Holder;

/// Who asks. Each request has it among its extensions.
#[derive(Clone)]
pub(super) struct Caller {
    /// The connection.
    pub guest: Arc<Guest>,
    /// The token that was shown, if it counts.
    pub holder: Option<Holder>,
}

impl Caller {
    /// The name of the token that was shown, if it counts.
    pub fn token(&self) -> Option<Arc<str>> {
        self.holder.as_ref().map(|holder| holder.name.clone())
    }
}
