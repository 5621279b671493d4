//! How large a trace may be. They bound what a hostile or broken file can make a reader allocate
//! or compute, and lie far above any trace known.

/// Most ports of a workload.
pub const MAX_PORTS: u32 = 1_000_000;
/// Most flows of a workload, and so most coflows.
pub const MAX_FLOWS: u32 = 50_000_000;
/// Most parents of all coflows of a workload together.
pub const MAX_PARENTS: usize = 10_000_000;
/// Most bytes of a flow.
pub const MAX_BYTES: f64 = 1e18;
/// Latest arrival, start or deadline, in seconds.
pub const MAX_TIME_S: f64 = 1e12;
/// Largest weight of a coflow.
pub const MAX_WEIGHT: f64 = 1e18;
/// Most bytes of a line of a trace file.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Most bytes of the name of a coflow or job.
pub const MAX_NAME_BYTES: usize = 1024;
