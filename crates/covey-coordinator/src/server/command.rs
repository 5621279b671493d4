//! What the decision thread is told.

use covey_proto::FromAgent;
use tokio::sync::oneshot;

use super::jobs::Written;
use super::outbox::Outbox;
use crate::request::{Answer, Request};
use crate::state::SessionId;

/// What the decision thread is told.
pub(super) enum Command {
    Request(Request, oneshot::Sender<Answer>),
    /// A connection whose first message is a hello with the right credential.
    Joined(SessionId, Outbox),
    Heard(SessionId, FromAgent),
    Closed(SessionId),
    /// A connection that was full can take something again.
    Writable(SessionId),
    Written(Written),
    /// No more changes are taken; the sender is told when all there are have been answered.
    Drain(oneshot::Sender<()>),
}
