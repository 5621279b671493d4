//! All flows in classes, on paths of any number of links.
//!
//! A class shares max-min, flow by flow, what the classes before it leave, as a strict queue of a switch
//! does with TCP flows in it. One class of all flows is fair sharing by flow.
//!
//! - [`membership`]: which class a flow is in.
//! - [`bundles`]: the flows of one class on one path, which have one rate.
//! - [`links`]: what one class gets and uses at each link.
//! - [`water_levels`]: the levels of one class, kept up to date. [`dense_rows`] makes that fast where there are
//!   few links.
//! - [`class_shares`]: all of it.

pub mod class_shares;

mod bundles;
mod dense_rows;
mod links;
mod membership;
mod water_levels;
