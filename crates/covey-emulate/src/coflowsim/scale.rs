//! The scale of CoflowSim: its units of time and bandwidth, and its tolerance around zero.

/// The simulator's name in messages.
pub(super) const NAME: &str = "CoflowSim";
/// Bits per second of a port.
pub const CAPACITY_BPS: f64 = 1024.0 * 1_048_576.0;
/// Milliseconds in a second.
pub(super) const SECOND_MS: f64 = 1024.0;
/// Milliseconds in a quantum.
pub(super) const QUANTUM_MS: u64 = 8;
/// Quanta in an epoch.
pub(super) const EPOCH: u64 = 10 * 1024 / QUANTUM_MS;
/// Epochs that the simulator runs: a day.
pub(super) const EPOCHS: u64 = 8640;
/// Bytes in a quantum for each bit per second.
pub(super) const BYTES_PER_BPS: f64 = QUANTUM_MS as f64 / SECOND_MS / 8.0;
/// Bytes, or bits per second, up to which CoflowSim counts a value as zero.
pub(super) const ZERO: f64 = 1e-3;
