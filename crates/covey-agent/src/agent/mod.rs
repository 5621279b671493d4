//! The agent without its I/O.

#[expect(
    clippy::module_inception,
    reason = "the agent is made of the parts in the files beside it"
)]
mod agent;
mod compression;
mod proving;
mod reports;
mod say;
mod schedule;
mod unnamed;

pub use agent::Agent;
