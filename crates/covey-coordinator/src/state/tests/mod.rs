//! Tests that look inside the state.

mod flow_ids;
mod flow_tokens;
mod following;
mod helpers;
mod leases;
mod memory;
mod waiting;
