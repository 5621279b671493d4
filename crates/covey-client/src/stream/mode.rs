//! Who decides which flow is sent first.

use covey_stream::Setup;

/// Who decides which flow is sent first.
#[derive(Debug, Clone, Default)]
pub enum Mode {
    /// A coordinator, by way of the agent on this host.
    #[default]
    Coordinator,
    /// Nobody alone: each receiver gives priorities to the coflows that come to it, and senders
    /// mark packets with them. All applications of a coflow need the same setup.
    Stream(Setup),
}
