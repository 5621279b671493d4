//! Limits of a trace. They bound a reader's memory and time for a hostile or broken file. They are
//! far above any known trace.

/// Maximum of ports of a workload.
pub const MAX_PORTS: u32 = 1_000_000;
/// Maximum of flows of a workload, and of coflows.
pub const MAX_FLOWS: u32 = 50_000_000;
/// Maximum of parents of all coflows of a workload together.
pub const MAX_PARENTS: usize = 10_000_000;
/// Maximum of events of a workload.
pub const MAX_EVENTS: usize = 10_000_000;
/// Maximum of bytes of a flow.
pub const MAX_BYTES: f64 = 1e18;
/// Latest arrival, start or deadline, in seconds.
pub const MAX_TIME_S: f64 = 1e12;
/// Largest weight of a coflow.
pub const MAX_WEIGHT: f64 = 1e18;
/// Maximum of bytes of a line of a trace file.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Maximum of bytes of the name of a coflow or job.
pub const MAX_NAME_BYTES: usize = 1024;
