//! How messages name flows.

/// The id of a flow, which the coordinator gives and never gives again in the same journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u64);

/// The name of a flow in a message: its coflow and its index there; its id ([`FlowKey::of_id`], from version
/// [`IDS`](crate::IDS) on); or the number that its agent has given to it ([`FlowKey::of_number`], from version
/// [`APPEARANCES`](crate::APPEARANCES) on).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Number of the coflow; of a name by id or by number, that.
    pub coflow: u64,
    /// Index within the coflow as registered, from 0; of a name by id the greatest `u32`, of one by number the
    /// greatest but one.
    pub flow: u32,
}

impl FlowKey {
    /// No coflow has so many flows.
    const BY_ID: u32 = u32::MAX;
    const BY_NUMBER: u32 = u32::MAX - 1;

    /// Names a flow by its id.
    pub const fn of_id(id: FlowId) -> FlowKey {
        FlowKey { coflow: id.0, flow: FlowKey::BY_ID }
    }

    /// The id, if the flow is named by it.
    pub fn id(self) -> Option<FlowId> {
        (self.flow == FlowKey::BY_ID).then_some(FlowId(self.coflow))
    }

    /// Names a flow that no application has named by the number that its agent has given to it.
    pub const fn of_number(number: u64) -> FlowKey {
        FlowKey { coflow: number, flow: FlowKey::BY_NUMBER }
    }

    /// The number, if the flow is named by it.
    pub fn number(self) -> Option<u64> {
        (self.flow == FlowKey::BY_NUMBER).then_some(self.coflow)
    }
}
