//! The versions of the messages between agent and coordinator.

/// The version that this crate speaks.
pub const VERSION: u16 = 9;

/// The oldest version that it still speaks.
pub const OLDEST: u16 = 2;

/// The first version in which agents report how flows are used
/// ([`FromAgent::Uses`](crate::FromAgent::Uses), [`FromAgent::Keeps`](crate::FromAgent::Keeps)),
/// and coordinators that they are there ([`ToAgent::Alive`](crate::ToAgent::Alive)).
pub const USES: u16 = 3;

/// The first version in which flows have ids: the coordinator announces them
/// ([`ToAgent::Flows`](crate::ToAgent::Flows)), and both sides name announced flows by them.
pub const IDS: u16 = 4;

/// The first version in which agents report flows that no application has named
/// ([`FromAgent::Appeared`](crate::FromAgent::Appeared)), if the coordinator asks for them.
pub const APPEARANCES: u16 = 5;

/// The first version in which agents ask for tokens of flows
/// ([`FromAgent::Asks`](crate::FromAgent::Asks)), and have keys to check those of others
/// ([`ToAgent::Keys`](crate::ToAgent::Keys)).
pub const TOKENS: u16 = 6;

/// The first version in which agents say which flows applications have opened
/// ([`FromAgent::Opened`](crate::FromAgent::Opened)), and pass rates on between schedules in the
/// order that the coordinator says ([`ToAgent::Turns`](crate::ToAgent::Turns)).
pub const OPENINGS: u16 = 7;

/// The first version in which the coordinator says how much of a coflow hosts may send by
/// themselves ([`ToAgent::StartSmall`](crate::ToAgent::StartSmall)).
pub const START_SMALL: u16 = 8;

/// The first version in which agents report what their links carry
/// ([`FromAgent::Links`](crate::FromAgent::Links)).
pub const LINKS: u16 = 9;

/// The version to speak with a side of version `theirs`: the lower one, if it is still spoken.
pub fn common_version(theirs: u16) -> Option<u16> {
    (theirs >= OLDEST).then_some(theirs.min(VERSION))
}
