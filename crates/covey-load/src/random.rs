//! Random numbers for loads and faults that can be repeated.

/// Numbers of a seed, by SplitMix (Steele, Lea and Flood).
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0, included, to `end`, excluded.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// A number from 0, included, to 1, excluded.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something with probability `p` happens.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}
