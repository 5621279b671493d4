//! What [`Levels`](super::Levels) asks about flows and their links.

/// Flows between senders, the links `0..S`, and receivers, `S..S + R`, each with a number; and the
/// service at which each ends: its target, at one of its links.
pub(crate) trait Flows {
    /// What says where flows are, if that is kept elsewhere.
    type Layout;
    /// Number of senders.
    fn senders(&self, layout: &Self::Layout) -> usize;
    /// Number of receivers.
    fn receivers(&self, layout: &Self::Layout) -> usize;
    /// All numbers of flows are less than this.
    fn bound(&self, layout: &Self::Layout) -> usize;
    /// Sender and receiver of a flow.
    fn ends(&self, layout: &Self::Layout, flow: usize) -> (usize, usize);
    /// No flow has a target.
    fn clear(&mut self, layout: &Self::Layout);
    /// A flow's target at its receiver or its sender; infinite if it has none there.
    fn target(&self, flow: usize, at_receiver: bool) -> f64;
    /// Sets a flow's target at its receiver or its sender.
    fn set_target(&mut self, flow: usize, at_receiver: bool, target: f64);
    /// The targets at a link, infinite ones among them.
    fn targets(&self, layout: &Self::Layout, link: usize) -> &[f64];
    /// The flow that has the `k`th target at a link, if a flow has it.
    fn flow(&self, layout: &Self::Layout, link: usize, k: usize) -> Option<usize>;
    /// The other end of each flow at a link, among the senders or among the receivers, in the order of
    /// [`Flows::targets`]; only where flows are so few that it is best to look at each.
    fn few(&self, link: usize) -> Option<&[u32]>;
    /// Adds the flows between a link and `others` at the other side to `flows`, and maybe more flows of
    /// that link.
    fn between(&self, layout: &Self::Layout, link: usize, others: &[u32], flows: &mut Vec<u32>);
}
