//! Coflows found in flows that carry no labels, after CODA (SIGCOMM 2016, §3).
//!
//! ```text
//!   Observed ── Observer ──▶ Point ── Differences ──▶ Metric ── distance ──▶ clustering ──▶ groups
//! ```
//!
//! - An [`Observed`] flow has a start, two ends and what else is known. Sizes and coflows are not
//!   seen.
//! - The [`Observer`] turns flows into points, and compares two of them attribute by attribute
//!   ([`Attribute`], [`Differences`]).
//! - A [`Metric`] makes a distance of the differences. The default needs no training.
//! - [`learn`] makes a metric from labelled flows.
//! - Clustering: [`identify`] groups recorded flows at once, by DBSCAN or by leaders; a
//!   [`Clusterer`] takes flows as they start and end, and re-clusters only what has changed.
//! - [`accuracy`] compares groups with true coflows.
//!
//! This crate does no I/O and reads no clock, and the same flows give the same groups on every
//! machine.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod accuracy;
#[cfg(test)]
mod agreement;
mod attributes;
mod clusterer;
mod dbscan;
mod disjoint_sets;
mod gap_scale;
mod hash;
mod identify;
mod learn;
mod metric;
mod metric_file;
mod observer;
mod sketch;
mod time_order;
mod xing;

pub use accuracy::{Accuracies, Accuracy, accuracy};
pub use attributes::{ATTRIBUTES, Attribute, Differences};
pub use clusterer::{Clusterer, FlowNumber, GroupNumber, Move};
pub use covey_core::{Address, Observed};
pub use identify::{Algorithm, confidence, identify};
pub use learn::{Form, LearnError, Learning, learn};
pub use metric::{Matrix, Metric, Training};
pub use metric_file::MetricError;
pub use observer::{Observer, Point};
