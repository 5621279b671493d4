//! What policies may know: the levels of knowledge.

mod sealed {
    pub trait Sealed {}
}

/// A level of knowledge: [`Clairvoyant`], [`NonClairvoyant`] or [`Unlabelled`].
pub trait Knowledge: sealed::Sealed + Copy + Send + 'static {
    /// The word for the level in lists of policies.
    const NAME: &'static str;
    /// Whether policies of this level may ask for sizes.
    const SEES_SIZES: bool;
    /// Whether applications name coflows to policies of this level.
    const SEES_COFLOWS: bool = true;
}

/// The policy knows the size of every flow when its coflow arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clairvoyant {}

/// The policy learns the size of a flow when the flow has ended. Until then it learns only how many
/// bytes coflows have sent, as last reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonClairvoyant {}

/// The policy sees flows as a host or a collector of flow records does
/// ([`Observed`](crate::Observed)): their starts, ends of paths, and what they have sent. It knows
/// neither sizes nor which flows belong together. Its coflows are groups that it [makes
/// itself](crate::Policy::regroup).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlabelled {}

/// A level of knowledge at which applications name coflows.
pub trait Named: Knowledge {}

impl sealed::Sealed for Clairvoyant {}
impl sealed::Sealed for NonClairvoyant {}
impl sealed::Sealed for Unlabelled {}

impl Named for Clairvoyant {}
impl Named for NonClairvoyant {}

impl Knowledge for Unlabelled {
    const NAME: &'static str = "unlabelled";
    const SEES_SIZES: bool = false;
    const SEES_COFLOWS: bool = false;
}

impl Knowledge for Clairvoyant {
    const NAME: &'static str = "sized";
    const SEES_SIZES: bool = true;
}

impl Knowledge for NonClairvoyant {
    const NAME: &'static str = "unsized";
    const SEES_SIZES: bool = false;
}
