//! The frameworks whose flows are told apart.

/// The framework whose shuffles a coflow's flows look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    /// Hosts alone, as a trace names them; ports are unknown (0).
    Unknown,
    /// Spark: an application has one executor on each host, and the executor listens at one port
    /// that the kernel chose. Executors keep one connection to each other executor of their
    /// application. Data flows from the port of the sender's executor.
    Spark,
    /// Hadoop MapReduce: the shuffle handler of every host listens at port 13562, for all jobs.
    /// Each transfer has a new connection.
    Hadoop,
    /// Training jobs: each rank listens at one port, and senders keep connections to receivers. All
    /// ports are from 50000 to 51000, the range that NCCL's documentation reserves by
    /// `ip_local_port_range`.
    Collective,
}
