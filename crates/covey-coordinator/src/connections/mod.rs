//! What coordinator and relay have in common: connections that are accepted, credentials of agents, and messages that
//! are handed over one group at a time.

mod accept;
mod admission;
mod lock;
mod outbox;

pub(crate) use accept::{Stop, accept};
pub(crate) use admission::{AGENTS, Admission, PATIENCE, Stream, name_of, same_secret, speaks_for};
pub(crate) use lock::lock;
pub(crate) use outbox::{Outbox, Rest};
