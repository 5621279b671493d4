//! Tests that look inside the state.

mod attempts;
mod barriers;
mod clock;
mod flow_ids;
mod flow_tokens;
mod following;
mod helpers;
mod histories;
mod leases;
mod lists;
mod memory;
mod openings;
mod owners;
mod pieces;
mod recording;
mod sparing;
mod tenants;
mod turns;
mod waiting;
