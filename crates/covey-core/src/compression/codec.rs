//! Compressors, and when compressing a flow pays (Swallow, IPDPS 2018, §IV).
//!
//! A compressor reads raw bytes at its speed `R` and writes `ξ` bytes for each of them. A flow has
//! raw bytes `d` and compressed ones `D`; the network has to carry its *volume* `V = d + D`, less
//! by `1 - ξ` for each byte that is compressed. With a share `a` of a host's processor, compressing
//! lessens the volume by `a R (1 - ξ)` a second and sending by the bandwidth `B`, which gives the
//! condition of Eq. 3, `a R (1 - ξ) > B`.
//!
//! That a ratio or an order may go by sizes has to be granted, as with sharing rules:
//!
//! ```compile_fail
//! use covey_core::{Codec, Compress, NonClairvoyant};
//! let lz4 = Codec::named("lz4").unwrap();
//! let blind: Compress<NonClairvoyant> = Compress::longest_first(lz4);
//! ```

use std::marker::PhantomData;

use crate::policy::knowledge::Clairvoyant;
use crate::values::units;

/// A compressor: how fast, and how small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec {
    /// `R`: raw bytes per second that the whole processor of a host compresses.
    pub speed: f64,
    /// `ξ`: compressed bytes for each raw byte, between 0 and 1.
    pub ratio: f64,
}

/// The codecs that policies can name: those of Swallow's Table II, with MB (10⁶ bytes) per second
/// and ratio. Decompression is left out there and here, since it is several times faster. A codec
/// is recognised by its two numbers ([`Codec::name`]), so no two have the same.
pub const CODECS: [(&str, Codec); 5] = [
    ("lz4", Codec { speed: 785e6, ratio: 0.6215 }),
    ("lzo", Codec { speed: 424e6, ratio: 0.5030 }),
    ("snappy", Codec { speed: 327e6, ratio: 0.4819 }),
    ("lzf", Codec { speed: 251e6, ratio: 0.4814 }),
    ("zstd", Codec { speed: 330e6, ratio: 0.3477 }),
];

/// Swallow's Table III: raw bytes of a flow of a sort, and its ratio.
const BY_SIZE: [(f64, f64); 8] = [
    (13.09e3, 0.6646),
    (54.26e3, 0.5870),
    (102.75e3, 0.5629),
    (1.01e6, 0.4124),
    (10.06e6, 0.2744),
    (100.59e6, 0.2533),
    (1.01e9, 0.2511),
    (10.01e9, 0.2507),
];

impl Codec {
    /// The codec of that name in [`CODECS`], whatever the case of letters.
    pub fn named(name: &str) -> Option<Codec> {
        CODECS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, codec)| *codec)
    }

    /// Its name in [`CODECS`], if it is one of these.
    pub fn name(&self) -> Option<&'static str> {
        CODECS.iter().find(|(_, codec)| codec == self).map(|(name, _)| *name)
    }

    /// A name of [`CODECS`], or any other compressor as `SPEED:RATIO` like `785MB/s:0.62`.
    ///
    /// # Errors
    /// What was expected, when `text` is neither.
    pub fn parse(text: &str) -> Result<Codec, String> {
        if let Some(codec) = Codec::named(text) {
            return Ok(codec);
        }
        let expected = |hint: &str| {
            let names: Vec<&str> = CODECS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            format!(
                "one of {names}, or SPEED:RATIO like 785MB/s:0.62 with a ratio between 0 and 1{hint}"
            )
        };
        let (speed, ratio) = text.split_once(':').ok_or_else(|| expected(""))?;
        let speed = units::parse_rate(speed).map_err(|error| expected(error.hint()))?;
        let ratio = ratio.parse().ok().filter(|ratio| *ratio > 0.0 && *ratio < 1.0);
        Ok(Codec { speed, ratio: ratio.ok_or_else(|| expected(""))? })
    }

    /// `R (1 - ξ)`: bytes of volume that compressing takes away in a second. Compressing pays at a
    /// lower bandwidth than that.
    pub fn threshold(&self) -> f64 {
        self.speed * (1.0 - self.ratio)
    }
}

/// Which codec the flows of an entry are compressed with, and how that goes together with sending.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// The compressor.
    pub codec: Codec,
    /// Whether a flow is sent while it is compressed. Else it waits until all of it is compressed,
    /// and is compressed only where that is faster than sending (Eq. 3).
    pub overlap: bool,
    /// Whether the ratio goes by the size of the flow (Table III) and not by the codec.
    pub ratio_by_size: bool,
    /// Whether a host compresses the longest flow of a coflow first, and not the first registered.
    pub longest_first: bool,
    /// Whether Eq. 3 compares with what coflows before this one and other traffic leave of a flow's
    /// path (Eq. 2), and not with the capacity of the path.
    pub compares_remaining: bool,
}

impl Compression {
    /// `ξ` of a flow with so many raw bytes. Between the sizes of Table III it changes with the
    /// logarithm of the size.
    pub fn ratio(&self, size: f64) -> f64 {
        if !self.ratio_by_size {
            return self.codec.ratio;
        }
        let above = BY_SIZE.iter().position(|(bytes, _)| *bytes >= size);
        match above {
            None => BY_SIZE[BY_SIZE.len() - 1].1,
            Some(0) => BY_SIZE[0].1,
            Some(k) => {
                let ((low, first), (high, second)) = (BY_SIZE[k - 1], BY_SIZE[k]);
                let part = libm::log(size / low) / libm::log(high / low);
                first + (second - first) * part
            }
        }
    }

    /// Whether what is decided depends on the coflows before, so that it is decided again with each
    /// plan.
    pub fn follows_others(&self) -> bool {
        self.compares_remaining && !self.overlap
    }

    /// `a R (1 - ξ)` for a flow with the ratio `ξ`: what compressing takes from its volume in a
    /// second.
    pub fn gain(&self, availability: f64, ratio: f64) -> f64 {
        self.codec.speed * availability * (1.0 - ratio)
    }

    /// Whether to compress a flow with the ratio `ξ` for a path of this bandwidth: Eq. 3, or, when
    /// sending goes on meanwhile, whenever there is a processor for it. A flow with a ratio of 1 or
    /// more is not compressible.
    pub fn pays(&self, availability: f64, ratio: f64, bandwidth: f64) -> bool {
        let other = if self.overlap { 0.0 } else { bandwidth };
        self.gain(availability, ratio) > other
    }
}

/// A [`Compression`] that a policy with knowledge `K` may ask for.
#[derive(Debug, PartialEq)]
pub struct Compress<K> {
    compression: Compression,
    knowledge: PhantomData<K>,
}

impl<K> Clone for Compress<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Compress<K> {}

impl<K> Compress<K> {
    fn of(compression: Compression) -> Compress<K> {
        Compress { compression, knowledge: PhantomData }
    }

    /// Compress, then send; in order of registration.
    pub fn with(codec: Codec) -> Compress<K> {
        Compress::of(Compression {
            codec,
            overlap: false,
            ratio_by_size: false,
            longest_first: false,
            compares_remaining: false,
        })
    }

    /// The same, with flows sent while they are compressed.
    #[must_use]
    pub fn overlapping(mut self, overlap: bool) -> Compress<K> {
        self.compression.overlap = overlap;
        self
    }

    /// The same, compared with what coflows before leave of a path (`true`) or with its capacity.
    #[must_use]
    pub fn comparing_remaining(mut self, remaining: bool) -> Compress<K> {
        self.compression.compares_remaining = remaining;
        self
    }

    /// The same with another compressor.
    #[must_use]
    pub fn by(mut self, codec: Codec) -> Compress<K> {
        self.compression.codec = codec;
        self
    }

    /// What is asked for.
    pub fn compression(&self) -> Compression {
        self.compression
    }
}

impl Compress<Clairvoyant> {
    /// Compress, then send; a coflow's longest flow first.
    pub fn longest_first(codec: Codec) -> Compress<Clairvoyant> {
        let mut compress = Compress::with(codec);
        compress.compression.longest_first = true;
        compress
    }

    /// The same, with the ratio that Table III gives for the size of a flow.
    #[must_use]
    pub fn ratio_by_size(mut self, by_size: bool) -> Compress<Clairvoyant> {
        self.compression.ratio_by_size = by_size;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many codecs Swallow's Table II has; they are the first.
    const TABLE_II: usize = 5;

    #[test]
    fn no_two_codecs_are_the_same() {
        for (name, codec) in CODECS {
            assert_eq!(codec.name(), Some(name));
        }
    }

    fn compression(name: &str) -> Compression {
        Compress::<Clairvoyant>::with(Codec::named(name).unwrap()).compression()
    }

    #[test]
    fn thresholds_of_table_ii() {
        let mb: Vec<f64> =
            CODECS[..TABLE_II].iter().map(|(_, c)| (c.threshold() / 1e6).round()).collect();
        assert_eq!(mb, [297.0, 211.0, 169.0, 130.0, 215.0]);
    }

    #[test]
    fn at_1_gbps_every_codec_compresses_and_at_10_gbps_none() {
        for (name, _) in &CODECS[..TABLE_II] {
            let compression = compression(name);
            let ratio = compression.ratio(1e6);
            assert!(compression.pays(1.0, ratio, 125e6), "{name}");
            assert!(!compression.pays(1.0, ratio, 1250e6), "{name}");
            assert!(!compression.pays(1.0, 1.0, 0.0), "what is not compressible");
        }
        // With half of the processor LZ4 still pays at 1 Gbps, LZF no longer.
        assert!(compression("lz4").pays(0.5, 0.6215, 125e6));
        assert!(!compression("lzf").pays(0.5, 0.4814, 125e6));
    }

    #[test]
    fn the_condition_is_strict() {
        // KA9: R (1 - ξ) = 1 is not above B = 1.
        let codec = Codec { speed: 2.0, ratio: 0.5 };
        let compress = Compress::<Clairvoyant>::with(codec);
        assert!(!compress.compression().pays(1.0, 0.5, 1.0));
        assert!(compress.overlapping(true).compression().pays(1.0, 0.5, 1.0));
        assert!(!compress.overlapping(true).compression().pays(0.0, 0.5, 1.0));
    }

    #[test]
    fn ratios_of_table_iii() {
        let by_size = Compress::longest_first(CODECS[0].1).ratio_by_size(true).compression();
        assert_eq!(by_size.ratio(1.0), 0.6646);
        assert!((by_size.ratio(1.01e6) - 0.4124).abs() < 1e-12);
        assert_eq!(by_size.ratio(1e12), 0.2507);
        let between = by_size.ratio(3e6);
        assert!(between < 0.4124 && between > 0.2744);
    }

    #[test]
    fn codecs_as_people_write_them() {
        assert_eq!(Codec::parse("zstd"), Ok(Codec { speed: 330e6, ratio: 0.3477 }));
        assert_eq!(Codec::parse("32bps:0.5"), Ok(Codec { speed: 4.0, ratio: 0.5 }));
        for text in ["gzip", "", "1gbps", "1gbps:", "1gbps:1", "1gbps:0", "x:0.5", "1gbps:nan"] {
            let expected = Codec::parse(text).unwrap_err();
            assert!(expected.starts_with("one of lz4, lzo, snappy, lzf, zstd"), "{text}");
        }
    }
}
