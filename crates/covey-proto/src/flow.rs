//! How messages name flows.

use std::ops::RangeInclusive;

/// The id of a flow, which the coordinator gives and never gives again in the same journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u64);

/// A flow of a coflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Number of the coflow.
    pub coflow: u64,
    /// Index within the coflow as registered, from 0.
    pub flow: u32,
}

impl FlowKey {
    /// The keys of all flows that a coflow can have.
    pub const fn all_of(coflow: u64) -> RangeInclusive<FlowKey> {
        FlowKey { coflow, flow: 0 }..=FlowKey { coflow, flow: u32::MAX }
    }
}

/// The name of a flow in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowName {
    /// Its coflow and its index there.
    Key(FlowKey),
    /// Its id, from version [`IDS`](crate::IDS) on.
    Id(FlowId),
    /// The number that its agent has given to it, if no application has named it; from version
    /// [`APPEARANCES`](crate::APPEARANCES) on.
    Number(u64),
}

impl FlowName {
    /// The index that says that a name is an id, and the one that says that it is a number. No
    /// coflow has so many flows.
    const BY_ID: u32 = u32::MAX;
    const BY_NUMBER: u32 = u32::MAX - 1;

    /// As it is written in messages: a number, and an index.
    pub const fn encoded(self) -> (u64, u32) {
        match self {
            FlowName::Key(FlowKey { coflow, flow }) => (coflow, flow),
            FlowName::Id(FlowId(id)) => (id, FlowName::BY_ID),
            FlowName::Number(number) => (number, FlowName::BY_NUMBER),
        }
    }

    /// The name that is written so.
    pub const fn decoded(number: u64, index: u32) -> FlowName {
        match index {
            FlowName::BY_ID => FlowName::Id(FlowId(number)),
            FlowName::BY_NUMBER => FlowName::Number(number),
            flow => FlowName::Key(FlowKey { coflow: number, flow }),
        }
    }

    /// The names, by coflow and index, of all flows that a coflow can have.
    pub const fn all_of(coflow: u64) -> RangeInclusive<FlowName> {
        let (first, last) = (FlowKey { coflow, flow: 0 }, FlowKey { coflow, flow: u32::MAX });
        FlowName::Key(first)..=FlowName::Key(last)
    }

    /// The coflow and the index, if the flow is named by them.
    pub const fn key(self) -> Option<FlowKey> {
        match self {
            FlowName::Key(key) => Some(key),
            _ => None,
        }
    }

    /// The coflow, if the flow is named by it.
    pub fn coflow(self) -> Option<u64> {
        self.key().map(|key| key.coflow)
    }

    /// The id, if the flow is named by it.
    pub const fn id(self) -> Option<FlowId> {
        match self {
            FlowName::Id(id) => Some(id),
            _ => None,
        }
    }

    /// The number, if the flow is named by it.
    pub const fn number(self) -> Option<u64> {
        match self {
            FlowName::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl From<FlowKey> for FlowName {
    fn from(key: FlowKey) -> FlowName {
        FlowName::Key(key)
    }
}

impl From<FlowId> for FlowName {
    fn from(id: FlowId) -> FlowName {
        FlowName::Id(id)
    }
}
