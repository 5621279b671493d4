//! Lower bounds on the mean coflow completion time (CCT).
//!
//! # Links as machines
//!
//! Coflow `c`, released at `r[c]` and completed at `C[c]`, needs link `l` for `p[c,l] = bytes /
//! capacity` seconds of its full capacity, all of them between `r[c]` (later, where its flows on
//! `l` start later) and `C[c]`. The bounds use only this, and that a link gives at most one second
//! of capacity per second. They ignore that a byte crosses all links of its path at the same
//! instant, and that a schedule serves single flows. Both relaxations only permit more schedules,
//! so the bounds hold for every schedule, also fractional and clairvoyant ones.
//!
//! # Isolated
//!
//! `C[c] - r[c] >= max over l of p[c,l]`; see [`isolated_ccts_s`].
//!
//! # Single port
//!
//! Coflows that share one link need no less time in all than under shortest remaining first there;
//! the others need their isolated CCTs. The largest such sum over links is weak, but easy to see.
//!
//! # Prices
//!
//! Choose for every link any price `π[l](t) >= 0` for a second of it at time `t`. In a schedule
//! coflow `c` uses link `l` at a rate `x[c,l](t)` with `0 <= x <= 1`, with `p[c,l]` as its integral
//! over `[r[c], C[c]]`; so its use costs no less than `buy[c,l](C[c])`, the price of the cheapest
//! `p[c,l]` seconds of link `l` in `[r[c], C[c]]`. A schedule uses no second twice, so all uses
//! together cost no more than all time on all links, and
//!
//! ```text
//! sum_c (C[c] - r[c])  >=  sum_c (C[c] - r[c] + sum_l buy[c,l](C[c]))  -  sum_l ∫ π[l]
//!                      >=  sum_c min_C (C - r[c] + sum_l buy[c,l](C))  -  sum_l ∫ π[l]
//! ```
//!
//! where `C` ranges over the times at which `c` alone could be complete. The last line does not
//! depend on the schedule: it is a bound for any prices, and concave in them. At the best prices it
//! equals a linear relaxation that mixes, for each coflow, complete patterns of link use (Dantzig
//! and Wolfe, 1960).
//!
//! # Mean busy times
//!
//! For weights `w[c,l] >= 0` that sum to 1 over the links of each coflow,
//! `C[c] >= sum_l w[c,l] C[c,l]`, where `C[c,l]` is the time at which link `l` has served `c`. A
//! machine of unit speed ends a job no earlier than `M + p/2`, where `M` is the mean of the times
//! at which it works on the job, and the preemptive schedule that always works on the released job
//! of largest `w/p` has the least `sum w M` (Goemans, Queyranne, Schulz, Skutella and Wang, "Single
//! machine scheduling with release dates", SIAM J. Discrete Math. 15, 2002). So
//! `sum_c C[c] >= sum_l min sum_c w[c,l] (M[c,l] + p[c,l]/2)`.
//!
//! The best prices never give a lower bound than mean busy times: they count the whole of an
//! interruption as delay of the interrupted coflow, not half of it. But the prices have a finite
//! grid over time, so mean busy times are better if there are many coflows that are short for the
//! grid. They also determine the first prices. The bound is the better of the two.
//!
//! # Parents
//!
//! The release of a coflow with parents depends on the schedule, and its CCT counts from there.
//! Such a coflow adds its isolated CCT to the bound, and no load to the links.
//!
//! # Compression
//!
//! With compression links carry fewer bytes. [`on_the_wire`] makes the workload in which every flow
//! that compression can help is compressed, at no cost of time. Its bounds hold for schedules of
//! the original workload.

mod busy;
mod links;
mod machine;
mod prices;
mod single_port;
mod uncoupled;

pub use links::{isolated_ccts_s, loads};
pub use uncoupled::uncoupled_cct_s;

use covey_core::state::Registration;
use covey_core::{Compression, Fabric, PortId};
use covey_trace::results::Bounds;
use covey_trace::{Availability, Workload};
use links::Links;

/// Share of a bound by which it is lowered; far above possible rounding errors.
const MARGIN: f64 = 1e-9;

/// The workload with the bytes of compressed flows. A flow counts as compressed if that ever pays,
/// with the greatest share of the sender's processor; where the decision depends on the bandwidth
/// that others leave, with none.
pub fn on_the_wire(
    workload: &Workload,
    fabric: &Fabric,
    compression: &Compression,
    processors: &Availability,
) -> Workload {
    let mut wire = workload.clone();
    let capacity = fabric.capacity();
    let greatest: Vec<f64> = (0..workload.ports).map(|port| processors.greatest(port)).collect();
    let mut path = Vec::new();
    let flows = (0..).zip(&mut wire.coflows).flat_map(|(seq, coflow)| {
        let registration = Registration { seq, ..Registration::default() };
        let compressible = &coflow.compressible;
        (0..).zip(&mut coflow.flows).map(move |(k, flow)| {
            let own = compressible.ratio_of(k);
            (registration.flow_number(k), own.unwrap_or(compression.ratio(flow.bytes)), flow)
        })
    });
    for (number, ratio, flow) in flows {
        let (src, dst) = (PortId(flow.src), PortId(flow.dst));
        path.clear();
        path.extend([fabric.egress(src), fabric.ingress(dst)]);
        fabric.inner_path(src, dst, number, &mut path);
        let bandwidth = path.iter().map(|link| capacity[link.index()]);
        let bandwidth = match compression.follows_others() {
            true => 0.0,
            false => bandwidth.fold(f64::INFINITY, f64::min),
        };
        if compression.pays(greatest[flow.src as usize], ratio, bandwidth) {
            flow.bytes *= ratio;
        }
    }
    wire
}

/// Bounds the mean CCT of `workload` over all schedules on `fabric` that leave flows on their
/// paths, also those that know the future. The bounds are 0 for a workload without coflows.
///
/// # Panics
/// If the workload has more ports than the fabric.
pub fn bounds(workload: &Workload, fabric: &Fabric) -> Bounds {
    let isolated = isolated_ccts_s(workload, fabric);
    let arrivals: Vec<f64> = workload.coflows.iter().map(|c| c.arrival_s).collect();
    let isolated_sum: f64 = isolated.iter().sum();
    let (mut single_port, mut sum) = (isolated_sum, isolated_sum);
    if isolated_sum.is_finite() {
        let links = Links::new(workload, fabric);
        let off_links = links.of_coflow.iter().zip(&isolated).filter(|(jobs, _)| jobs.is_empty());
        let rest: f64 = off_links.map(|(_, cct)| cct).sum();
        let busy = busy::maximise(&links);
        let priced = prices::maximise(&links, &arrivals, &isolated, &busy.weights);
        single_port = single_port::sum(&links, &isolated);
        sum = single_port.max(rest + busy.value.max(priced));
    }
    // A difference of two times is no more exact than the times are.
    let resolution = 4.0 * f64::EPSILON * arrivals.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let count = workload.coflows.len().max(1) as f64;
    let lowered = |sum: f64| (sum / count * (1.0 - MARGIN) - resolution).max(0.0);
    Bounds {
        isolated_s: lowered(isolated_sum),
        single_port_s: lowered(single_port),
        mean_cct_s: lowered(sum),
    }
}
