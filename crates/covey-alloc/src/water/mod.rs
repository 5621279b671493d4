//! Max-min fair water levels on paths of any number of links, kept up to date as flows come and go.
//!
//! - [`bundles`]: flows that share a path, and have one rate.
//! - [`links`]: what they get and use at each link.
//! - [`filling`]: the levels from nothing.
//! - [`water_levels`]: the levels, kept; [`queue`]: the links that are to be balanced.
//! - [`rows`]: what flows cross beside the link that limits them, in two forms: [`dense_rows`]
//!   where there are few links, [`path_rows`] where there are many.
//! - [`divided`]: the levels of links that are divided in proportion to weights, which is not
//!   max-min fair.

pub mod bundles;
pub mod filling;
pub mod water_levels;

mod dense_rows;
mod divided;
mod links;
mod path_rows;
mod queue;
mod rows;
