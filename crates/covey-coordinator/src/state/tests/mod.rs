//! Tests that look inside the state.

mod flow_ids;
mod following;
mod helpers;
mod leases;
mod memory;
mod waiting;
