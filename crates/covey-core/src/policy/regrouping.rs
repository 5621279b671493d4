//! Groups of a policy's own making: which flows it puts where.

use crate::state::Registration;
use crate::state::lineage::Lineage;
use crate::values::ids::{CoflowId, FlowId};
use crate::values::time::Time;

/// A flow that is put into a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// One that belongs to no coflow yet, by its [number](crate::View::newcomers).
    Newcomer(u64),
    /// An unfinished one of a coflow.
    Flow(FlowId),
}

/// Where a flow is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// Into a coflow that is present.
    Coflow(CoflowId),
    /// Into a group that begins now: the return value of [`Regrouping::begin`].
    Own(u32),
}

/// A group of a policy's own making. To the policy, it is a coflow as long as it has unfinished
/// flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnGroup {
    /// Its number. No other group of the policy has the same, nor had it.
    pub number: u32,
    /// When its [order](crate::View::order) says that it arrived.
    pub arrival: Time,
    /// Groups with the same external part are a DAG: their bytes are counted together
    /// ([`Plan::wake_when_dag_sent`](crate::Plan::wake_when_dag_sent)).
    pub lineage: Lineage,
}

impl OwnGroup {
    /// Serial numbers from here on belong to groups of policies' own making, those before to
    /// coflows that applications name.
    const FIRST_SEQ: u64 = 1 << 31;

    /// As a coflow that is registered.
    pub fn registration(&self) -> Registration {
        let seq = OwnGroup::FIRST_SEQ + u64::from(self.number);
        Registration {
            seq,
            arrival: self.arrival,
            lineage: self.lineage,
            ..Registration::default()
        }
    }
}

/// Which flows a policy puts into which groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Regrouping {
    /// The groups that begin, in the order of [`Destination::Own`].
    pub begun: Vec<OwnGroup>,
    /// The flows that are put, and where.
    pub put: Vec<(Member, Destination)>,
}

impl Regrouping {
    /// Begins a group. Flows must be put into it; the driver panics if none is.
    pub fn begin(&mut self, group: OwnGroup) -> Destination {
        self.begun.push(group);
        Destination::Own(self.begun.len() as u32 - 1)
    }

    /// Puts a flow into a group. Each flow may be put once, and not where it is; the driver panics
    /// if one is put twice. Flows that join a group cost as much as it has flows, so put them there
    /// together.
    pub fn put(&mut self, member: Member, into: Destination) {
        self.put.push((member, into));
    }

    /// Whether no flow is put anywhere.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.begun.clear();
        self.put.clear();
    }
}
