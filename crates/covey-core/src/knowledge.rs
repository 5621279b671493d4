//! What policies may know: the levels of knowledge.

mod sealed {
    pub trait Sealed {}
}

/// A level of knowledge: [`Clairvoyant`] or [`NonClairvoyant`].
pub trait Knowledge: sealed::Sealed + Copy + Send + 'static {
    /// The word for the level in lists of policies.
    const NAME: &'static str;
    /// Whether policies of this level may ask for sizes.
    const SEES_SIZES: bool;
}

/// The policy knows the size of every flow when its coflow arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clairvoyant {}

/// The policy learns the size of a flow when the flow has ended. Until then it learns only how many
/// bytes coflows have sent, as last reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonClairvoyant {}

impl sealed::Sealed for Clairvoyant {}
impl sealed::Sealed for NonClairvoyant {}

impl Knowledge for Clairvoyant {
    const NAME: &'static str = "sized";
    const SEES_SIZES: bool = true;
}

impl Knowledge for NonClairvoyant {
    const NAME: &'static str = "unsized";
    const SEES_SIZES: bool = false;
}
