//! The agent without its I/O.

#[expect(
    clippy::module_inception,
    reason = "the agent is made of the parts in the files beside it"
)]
mod agent;
#[cfg(test)]
mod between_tests;
mod compression;
mod proving;
mod reports;
mod say;
mod schedule;
mod turns;
mod unnamed;

pub use agent::Agent;
