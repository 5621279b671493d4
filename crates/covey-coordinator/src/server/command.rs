//! What the decision thread is told.

use covey_api::{Problem, Settings, SettingsStatus};
use covey_proto::{FromAgent, Key};
use tokio::sync::oneshot;

use super::jobs::Written;
use super::route::{Peer, Route};
use crate::request::{Answer, Client, List, MakePage, Request};
use crate::state::{Look, SessionId};
use covey_credentials::TokenLimits;

/// Maximum number of them that wait for the decision thread, before connections have to; and of
/// those that wait for another policy, before they are refused.
pub(super) const WAITING: usize = 8192;

/// Who hears what has become of a change of settings.
pub(super) type Changed = oneshot::Sender<Result<SettingsStatus, Problem>>;

/// What the decision thread is told.
pub(super) enum Command {
    /// Somebody asks for something.
    Request(Client, Request, oneshot::Sender<Answer>),
    /// Somebody reads a list.
    List(List, oneshot::Sender<MakePage>),
    /// The recorder looks at what coflows do.
    Look(oneshot::Sender<Look>),
    /// A connection whose first message is a hello with the right credential.
    Joined(SessionId, Route, Peer),
    Heard(SessionId, FromAgent),
    Closed(SessionId),
    /// A connection that was full can take messages again.
    Writable(SessionId),
    Written(Written),
    /// Settings are to change.
    Change(Box<Settings>, Changed),
    /// The tokens have these limits from now on.
    Limits(TokenLimits),
    /// Flow tokens are signed with another secret from now on.
    FlowSecret(Key),
    /// Take no more changes, and tell the sender when all changes are answered.
    Drain(oneshot::Sender<()>),
}
