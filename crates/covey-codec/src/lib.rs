//! The compressors of flows, and their speed on this machine.
//!
//! [`pack`] and [`unpack`] handle one chunk of a flow at a time; each compressor is a file in
//! `codecs`. A checksum of the raw bytes goes with each chunk, so that an error of a compressor is
//! noticed. [`measure`] measures the speed `R` and the ratio `ξ` (Swallow, IPDPS 2018, §IV).

mod chunk;
mod codec;
mod codecs;
mod measure;
mod sample;

pub use chunk::{CodecError, checksum, pack, unpack};
pub use measure::measure;
pub use sample::sample;
