//! Workloads made from workloads.
//!
//! Each function makes a new workload of an existing one. A random one takes a seed; the same seed
//! gives the same workload on every platform and in every release.

mod burst;
mod changes;
mod dag;
mod failures;
mod filter;
mod fold;
mod mantri;
mod parts;
mod replicate;
mod scale;
mod shared;
mod skew;
mod split_receivers;
mod tenants;
mod waves;

pub use burst::burst;
pub use changes::Changes;
pub use dag::{Shape, dag};
pub use failures::{Failures, failures};
pub use filter::{Filter, filter};
pub use fold::{every, fold};
pub use mantri::{Mantri, mantri, mapper_cv};
pub use replicate::replicate;
pub use scale::{Scale, scale};
pub use skew::skew;
pub use split_receivers::split_receivers;
pub use tenants::{Tenants, TenantsBy, tenants};
pub use waves::{Waves, WavesOf, waves};
