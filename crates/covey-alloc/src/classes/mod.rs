//! All flows in classes, on paths of any number of links.
//!
//! A class shares max-min, flow by flow, what the classes before it leave, as a strict queue of a
//! switch does with TCP flows in it. One class of all flows is fair sharing by flow.
//!
//! - [`membership`]: which class a flow is in.
//! - [`class_shares`]: the [levels](super::water) of all classes, one after the other.

pub mod class_shares;

mod membership;
