//! The hosts' processors.

mod compressors;
mod jobs;
mod shares;

pub(crate) use compressors::Processors;
