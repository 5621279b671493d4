//! The rules that every policy must keep, checked on random workloads: for the policies in the
//! registry, and for policies from elsewhere, in Rust or in Python.
//!
//! [`check`] checks all rules for one policy; each rule also has a function of its own.
//!
//! ```
//! let sebf = || covey_sched::build("sebf").unwrap();
//! covey_conformance::check(&|| sebf().policy, sebf().promises, 5)?;
//! # Ok::<(), covey_conformance::Violation>(())
//! ```

mod checks;
mod failed;
mod suite;
mod twin;
mod violation;
mod watch;
mod workloads;

pub use checks::{
    Limits, MICE, Make, ccts, compresses, elephant_s, is_local, names_of_ports_do_not_matter,
    nothing_is_too_fast, others_do_not_matter, rates_are_as_defined, rates_fit, same_again,
    same_time, starves_nobody, the_clock_does_not_matter,
};
pub use suite::check;
pub use violation::Violation;
pub use watch::{Served, served};
pub use workloads::{
    Kind, as_trace, fabric, fabric_with_inner_links, flow, workload, workload_with_events,
};
