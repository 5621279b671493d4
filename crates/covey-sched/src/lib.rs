//! Coflow scheduling policies, one file each, and the [registry] that makes a policy from
//! its name and parameters.
//!
//! A policy ranks; `covey-alloc` makes rates of the ranking. Mechanisms that several policies share
//! are modules of their own: [`queues`] (multi-level feedback queues), [`slots`] (time slots that
//! give queues weighted shares), [`contention`] (coflows at each link), [`bssi`] (the primal-dual
//! order), [`sampling`] (pilot flows and size estimates). [`stream`] has the state machine of a
//! receiver that decides alone.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod bssi;
mod coda;
pub mod contention;
pub mod estimate;
pub mod guard;
pub mod queues;
pub mod registry;
pub mod sampling;
pub mod slots;
pub mod stream;

mod aalo;
mod aalo_local;
mod aalo_oracle;
mod all_flows;
mod compressed;
mod covey;
mod deadlines;
mod fair;
mod fifo;
mod fifo_flow;
mod fifo_lm;
mod formula;
mod fvdf;
mod graviton;
mod info;
mod kept_ranks;
mod lcf;
mod local;
mod ncf;
mod order;
mod pfp;
mod philae;
mod philae_oracle;
mod rank;
mod ranked;
mod runs;
mod saath;
mod scf;
mod sebf;
mod settings;
mod shrinkage;
mod sincronia;
mod spec;
mod wss;

pub use info::Info;
pub use registry::{
    Built, ExtendError, build, build_with_metric, extend, find, policies, suggestion,
};
pub use settings::Settings;
pub use spec::{COMPRESS, Param, SpecError, normalized, split_list};
