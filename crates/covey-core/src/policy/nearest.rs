//! Why a flow is in its group.

use crate::values::ids::FlowId;

/// Why a policy that does not see coflows has put a flow into its group: another flow of the group
/// is near.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The other flow.
    pub flow: FlowId,
    /// Their distance, without unit.
    pub distance: f64,
    /// Flows belong together if they are no further apart than this, or connected by such ones.
    pub radius: f64,
    /// The names of attributes in which the two differ, each with its share of the square of the
    /// distance; the largest share first.
    pub shares: Vec<(&'static str, f64)>,
}
