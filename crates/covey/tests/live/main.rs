//! The live system as processes: a coordinator that is killed, agents that go, disks that fill up,
//! wrong credentials.

#[path = "../common/mod.rs"]
mod common;

mod agent_certificates;
mod attach;
mod certificates;
mod changes;
mod clock;
mod compression;
mod crashes;
mod credentials;
mod damage;
mod dead_coordinator;
mod dead_holders;
mod dead_hosts;
mod dead_soak;
mod doors;
mod faults;
mod flow_tokens;
mod harness;
mod holders;
mod hostile;
mod hosts;
mod lists;
mod namespaces;
mod openings;
mod operation;
mod prometheus;
mod relays;
mod rest;
mod restarts;
mod senders;
mod shuffles;
mod small;
mod status;
mod tenants;
mod tokens;
mod unnamed;
