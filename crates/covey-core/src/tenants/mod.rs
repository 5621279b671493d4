//! Tenants: a policy for each, and the weights by which they divide links.

pub mod for_each;
pub mod weights;
