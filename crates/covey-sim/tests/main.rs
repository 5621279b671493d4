//! Tests of the simulator.
//!
//! One program, because each test program takes seconds to compile and link.

mod bound;
mod clock;
mod cluster;
mod common;
mod compression;
mod conformance;
mod contributing;
mod deadlines;
mod disjoint;
mod errors;
mod exact;
mod explain;
mod guarantee;
mod live;
mod naive;
mod order;
mod own_policy;
mod passed;
mod replay;
mod restarts;
mod scenarios;
mod tenants;
mod timeline;
mod turns;
mod unlabelled;
mod waiting;
mod weights;
