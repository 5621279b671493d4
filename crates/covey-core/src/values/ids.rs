//! Names of things: dense small numbers, so that what is kept per coflow or per link
//! is kept in a flat array.

/// A coflow that is present. Numbers are dense and are used again after a coflow has left, so an
/// array indexed by them is no longer than the most coflows ever present at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoflowId(pub u32);

/// A flow: its coflow, and its number within the coflow in order of registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    /// The coflow it belongs to.
    pub coflow: CoflowId,
    /// Its number within the coflow, from 0.
    pub index: u32,
}

/// A machine (or rack) at the edge of the fabric: one egress and one ingress link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// One of those who share the network; numbers are dense. Where nobody else does, it is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TenantId(pub u32);

/// A directed link of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl CoflowId {
    /// As an index of an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl TenantId {
    /// As an index of an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// As an index of an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PortId {
    /// As an index of an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
