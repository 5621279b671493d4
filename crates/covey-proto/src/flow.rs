//! How messages name flows.

/// The id of a flow, which the coordinator gives and never gives again in the same journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u64);

/// The name of a flow in a message: its coflow and its index there, or its id
/// ([`FlowKey::of_id`], from version [`IDS`](crate::IDS) on).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Number of the coflow; of a name by id, the id.
    pub coflow: u64,
    /// Index within the coflow as registered, from 0; of a name by id, the greatest `u32`.
    pub flow: u32,
}

impl FlowKey {
    /// No coflow has so many flows.
    const BY_ID: u32 = u32::MAX;

    /// Names a flow by its id.
    pub const fn of_id(id: FlowId) -> FlowKey {
        FlowKey { coflow: id.0, flow: FlowKey::BY_ID }
    }

    /// The id, if the flow is named by it.
    pub fn id(self) -> Option<FlowId> {
        (self.flow == FlowKey::BY_ID).then_some(FlowId(self.coflow))
    }
}
