//! What a policy promises.

/// What a policy promises with the parameters it has, for tests that hold it to that. The default
/// promises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promises {
    /// No flow waits while all its links have capacity to spare.
    pub conserves_work: bool,
    /// A coflow ends however many others come after it, at links that can carry them.
    pub starves_nobody: bool,
    /// Decisions at a node depend only on traffic that has passed through that node.
    pub is_local: bool,
}
