//! The formats of traces.

mod bare;
mod benchmark;
mod compressed;
mod connections;
mod counted;
mod draft;
mod fields;
pub(crate) mod foreign;
mod format;
mod hpcc;
pub(crate) mod json_lines;
mod line_formats;
mod lines;
mod shuffle;
mod sincronia;
mod sunflow;

pub use compressed::decompressed;
pub(crate) use compressed::{first_bytes, with_head};
pub(crate) use draft::{Draft, check_name};
pub(crate) use fields::{check_total, number};
pub(crate) use format::{First, Format, Notes, Rest};
pub use lines::Lines;

/// All formats. The first one that accepts the first line of a trace reads the trace.
pub(crate) static FORMATS: &[Format] = &[
    json_lines::FORMAT,
    hpcc::FORMAT,
    connections::FORMAT,
    sunflow::FORMAT,
    bare::FORMAT,
    counted::FORMAT,
];
