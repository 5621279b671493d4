//! The scale of the program: its units of time and bandwidth.

/// The program's name in messages.
pub(super) const NAME: &str = "the simulator of Philae's authors";
/// Bytes that a port carries in a millisecond.
const CAPACITY: u64 = 134_217;
/// Bits per second of a port.
pub const CAPACITY_BPS: f64 = CAPACITY as f64 * 8e3;
/// Milliseconds in a cycle.
pub(super) const CYCLE_MS: u64 = 8;
/// Bytes that a port carries in a cycle.
pub(super) const CYCLE_BYTES: u64 = CAPACITY * CYCLE_MS;
/// Milliseconds between arrivals.
pub(super) const BIN_MS: u64 = 10_240;
