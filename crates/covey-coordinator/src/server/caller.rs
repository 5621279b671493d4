//! Who asks: what is known of a client besides its request.

use std::sync::Arc;

use covey_door::Guest;

use crate::record::Registrant;
use crate::request::Client;
use covey_credentials::{Holder, Right};

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

    /// The same for the decision thread.
    pub fn client(&self) -> Client {
        let registrant = |holder: &Holder| Registrant {
            token: holder.name.to_string(),
            tenant: holder.tenant.to_string(),
        };
        Client {
            registrant: self.holder.as_ref().map(registrant),
            operates: self.holder.as_ref().is_some_and(|holder| holder.has(Right::Operate)),
        }
    }
}
