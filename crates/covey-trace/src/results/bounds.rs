//! How good a schedule can be.

/// Lower bounds, in seconds, that no schedule can beat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Mean over the coflows of the time each would take alone in the network.
    pub isolated_s: f64,
    /// Bound on the mean CCT that accounts for coflows sharing one link, the one that gives the
    /// largest bound.
    pub single_port_s: f64,
    /// Bound on the mean CCT that accounts for coflows sharing links; never below the others.
    pub mean_cct_s: f64,
}
