//! The kinds of coflow in the public Facebook trace, each summarised by quartiles.
//!
//! A kind lies in one bin of Aalo's Table 3 (short or long, narrow or wide) and one of Philae's
//! Table 4 (thin or wide, small or large) by its ranges alone. So the bins of a generated workload
//! are those of the trace.

/// A quantity by its minimum, quartiles and maximum, log-linear between them.
pub(crate) struct Spread(pub [f64; 5]);

impl Spread {
    /// The value below which a share `q`, from 0 to 1, of all lie.
    pub fn at(&self, q: f64) -> f64 {
        let quarter = ((q * 4.0) as usize).min(3);
        let (low, high) = (self.0[quarter], self.0[quarter + 1]);
        low * libm::exp(libm::log(high / low) * (q * 4.0 - quarter as f64))
    }
}

/// A kind of coflow.
pub(crate) struct Kind {
    /// Number of these coflows among 526.
    pub count: usize,
    /// Sending racks.
    pub mappers: Spread,
    /// Receiving racks.
    pub reducers: Spread,
    /// Mean MB of a flow, before each flow is rounded to a whole number of at least 1.
    pub mean_mb: Spread,
    /// Minimum and maximum MB of the longest flow.
    pub longest_mb: (f64, f64),
}

/// From 5 MB up.
const LONG: (f64, f64) = (5.0, 2_500.0);
/// Less than 5 MB.
const SHORT: (f64, f64) = (1.0, 4.0);

const fn kind(
    count: usize,
    mappers: [f64; 5],
    reducers: [f64; 5],
    mean_mb: [f64; 5],
    longest_mb: (f64, f64),
) -> Kind {
    Kind {
        count,
        mappers: Spread(mappers),
        reducers: Spread(reducers),
        mean_mb: Spread(mean_mb),
        longest_mb,
    }
}

const ONE: [f64; 5] = [1.0; 5];

/// All kinds; their counts add up to 526.
#[rustfmt::skip]
pub(crate) const KINDS: [Kind; 18] = [
    // One flow: short; long and small; long and large.
    kind(113, ONE, ONE, [1.0, 1.0, 1.0, 1.0, 3.0], SHORT),
    kind(7, ONE, ONE, [6.0, 7.0, 11.0, 18.0, 59.0], LONG),
    kind(3, ONE, ONE, [423.0, 500.0, 583.0, 610.0, 638.0], LONG),
    // Several racks to one, short: thin; wide.
    kind(82, [2.0, 3.0, 4.0, 7.0, 7.0], ONE, [1.0, 1.0, 1.0, 1.0, 2.0], SHORT),
    kind(75, [8.0, 13.0, 15.0, 27.0, 30.0], ONE, [1.0, 1.0, 1.0, 1.0, 1.6], SHORT),
    // Several racks to one, long and thin: small; large.
    kind(31, [2.0, 2.0, 2.0, 2.3, 3.4], ONE, [5.0, 15.0, 22.0, 24.0, 28.0], LONG),
    kind(21, [2.0, 2.0, 2.0, 3.0, 4.0], ONE, [51.0, 55.0, 62.0, 90.0, 295.0], LONG),
    // One rack to several: short and narrow; long, narrow and small or large; short and wide.
    kind(24, ONE, [16.0, 31.0, 35.0, 40.0, 48.0], [0.6, 0.8, 1.0, 1.2, 1.5], SHORT),
    kind(6, ONE, [11.0, 12.0, 13.0, 14.0, 15.0], [2.0, 3.0, 4.0, 4.5, 5.0], LONG),
    kind(22, ONE, [22.0, 28.0, 36.0, 43.0, 50.0], [5.3, 5.4, 6.0, 8.0, 60.0], LONG),
    kind(7, ONE, [51.0, 52.0, 54.0, 56.0, 62.0], [0.8, 0.9, 1.0, 1.1, 1.2], SHORT),
    // A few racks to a few: short, narrow, wide and small.
    kind(15, [5.0, 5.0, 5.0, 5.0, 7.0], [2.0, 2.0, 2.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0, 2.0], SHORT),
    // Short, wide and large: padded to 1 MB a flow; up to whole cluster to whole cluster.
    kind(38, [21.0, 32.0, 58.0, 66.0, 147.0], [5.0, 20.0, 58.0, 67.0, 80.0], [0.4, 0.6, 0.7, 1.0, 3.6], SHORT),
    kind(14, [111.0, 123.0, 138.0, 146.0, 147.0], [43.0, 66.0, 93.0, 134.0, 136.0], [0.3, 0.3, 0.4, 0.6, 1.4], SHORT),
    // Long, wide and large: a few racks to a few; a few racks to most.
    kind(22, [12.0, 15.0, 27.0, 29.0, 32.0], [5.0, 9.0, 11.0, 15.0, 16.0], [4.0, 7.0, 13.0, 24.0, 53.0], LONG),
    kind(15, [2.0, 3.0, 4.0, 5.0, 16.0], [110.0, 115.0, 120.0, 122.0, 137.0], [4.0, 14.0, 21.0, 26.0, 44.0], LONG),
    // Long, wide and large: half the cluster to half; most to most, with nearly all the bytes.
    kind(15, [27.0, 48.0, 66.0, 137.0, 147.0], [30.0, 60.0, 85.0, 117.0, 143.0], [1.7, 3.0, 16.0, 32.0, 55.0], LONG),
    kind(16, [117.0, 137.0, 146.0, 147.0, 147.0], [114.0, 120.0, 139.0, 141.0, 145.0], [27.0, 50.0, 70.0, 84.0, 580.0], LONG),
];
