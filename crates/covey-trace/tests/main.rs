//! Formats, statistics and transformations of traces.
//!
//! One program, because each test program takes seconds to compile and link.

mod clock;
mod clouds;
mod collectors;
mod errors;
mod facebook;
mod fb_like;
mod formats;
mod gzip;
mod hosts;
mod observe;
mod others;
mod parquet;
mod records;
mod sources;
mod stats;
mod transform;
