//! The flows and links of [`Levels`](super::Levels).

/// Flows between senders, the links `0..S`, and receivers, `S..S + R`, each with a number, and perhaps over inner
/// links; and the service at which each ends: its target, at one of its links.
pub(crate) trait Flows {
    /// The layout of the flows, if it is kept elsewhere.
    type Layout;
    /// Number of senders.
    fn senders(&self, layout: &Self::Layout) -> usize;
    /// Number of receivers.
    fn receivers(&self, layout: &Self::Layout) -> usize;
    /// The least upper bound of flow numbers, not included.
    fn bound(&self, layout: &Self::Layout) -> usize;
    /// Whether flows cross inner links.
    fn are_on_paths(&self, layout: &Self::Layout) -> bool;
    /// The link with the lowest level on a flow's path.
    fn lowest(&self, layout: &Self::Layout, flow: usize, levels: &[f64]) -> usize;
    /// Removes all targets.
    fn clear(&mut self, layout: &Self::Layout);
    /// A flow's target at a link on its path; infinite if it has none there.
    fn target(&self, layout: &Self::Layout, flow: usize, link: usize) -> f64;
    /// Sets a flow's target at a link on its path.
    fn set_target(&mut self, layout: &Self::Layout, flow: usize, link: usize, target: f64);
    /// The targets at a link, including infinite ones.
    fn targets(&self, layout: &Self::Layout, link: usize) -> &[f64];
    /// The flow that has the `k`th target at a link, if a flow has it.
    fn flow(&self, layout: &Self::Layout, link: usize, k: usize) -> Option<usize>;
    /// The other end of each flow at a link, among the senders or among the receivers, in the order
    /// of [`Flows::targets`]; only if there are so few flows that a scan is fastest.
    fn few(&self, link: usize) -> Option<&[u32]>;
    /// Adds to `flows` the flows between a link and `others` at the other side, and possibly more
    /// flows of that link.
    fn between(&self, layout: &Self::Layout, link: usize, others: &[u32], flows: &mut Vec<u32>);
}
