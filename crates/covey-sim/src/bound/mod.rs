//! Lower bounds on the mean coflow completion time.
//!
//! Every link is taken as a machine of its own: coflow `c` is on link `l` a job of length
//! `p = bytes / capacity` that may not start before `r`, and `c` is not complete before any of its
//! jobs is. That forgets that a byte must cross two links at the same instant, so whatever bounds
//! the machines bounds the switch.

mod busy;
mod links;

pub use links::isolated_cct_s;

use covey_trace::Workload;
use links::Links;

/// Rounding errors stay far below this share of a bound; the bounds are lowered by it.
const MARGIN: f64 = 1e-9;

/// Lower bounds, in seconds, that no schedule can beat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Mean over the coflows of the time each would take alone in the network.
    pub isolated_s: f64,
    /// Bound on the mean CCT that accounts for the coflows sharing links; never below
    /// [`Bounds::isolated_s`].
    pub mean_cct_s: f64,
}

/// Bounds the mean CCT of `workload` over all schedules, those that know everything beforehand
/// included.
///
/// `egress` and `ingress` hold the capacity of each port's two links in bytes per second.
pub fn bounds(workload: &Workload, egress: &[f64], ingress: &[f64]) -> Bounds {
    let count = workload.coflows.len().max(1) as f64;
    let isolated: Vec<f64> =
        workload.coflows.iter().map(|c| isolated_cct_s(c, egress, ingress)).collect();
    let isolated_sum: f64 = isolated.iter().sum();
    let mut sum = isolated_sum;
    if isolated_sum.is_finite() {
        let links = Links::new(workload, egress, ingress);
        let roots = |c: &usize| workload.coflows[*c].parents.is_empty();
        let rest: f64 = (0..isolated.len()).filter(|c| !roots(c)).map(|c| isolated[c]).sum();
        sum = sum.max(rest + busy::maximise(&links).value);
    }
    Bounds {
        isolated_s: isolated_sum / count * (1.0 - MARGIN),
        mean_cct_s: sum / count * (1.0 - MARGIN),
    }
}
