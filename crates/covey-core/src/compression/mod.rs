//! Compression: the codecs that policies name, and what it makes of the bytes that links carry.

pub mod codec;
pub mod compressed;
