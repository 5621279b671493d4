//! Seeded random numbers that are the same on every platform and in every release. The generator is
//! fixed (ChaCha with 8 rounds), this module lays out the seed, and mathematical functions are in
//! software.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// The stream of `seed` for the purpose `name`. Only the first 24 bytes of `name` count.
    pub fn new(name: &str, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        for (to, from) in bytes[8..].iter_mut().zip(name.bytes()) {
            *to = from;
        }
        Self(ChaCha8Rng::from_seed(bytes))
    }

    /// Uniform from 0, included, to 1, excluded.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform from 0 to `end - 1`.
    pub fn below(&mut self, end: u32) -> u32 {
        (self.unit() * f64::from(end)) as u32
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normal with mean 0 and variance 1, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Poisson with parameter `lambda`, given that it is not zero.
    pub fn positive_poisson(&mut self, lambda: f64) -> f64 {
        let (mut k, mut left) = (1.0, self.unit());
        let mut p = lambda / libm::expm1(lambda);
        while left >= p && p > 0.0 {
            left -= p;
            k += 1.0;
            p *= lambda / k;
        }
        k
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = (self.unit() * (i + 1) as f64) as usize;
            items.swap(i, j);
        }
    }

    /// `n` numbers from 0 to 1 in random order, one from the middle half of each `n`-th part. Their
    /// sum varies much less from seed to seed than that of independent numbers.
    pub fn strata(&mut self, n: usize) -> Vec<f64> {
        let mut numbers: Vec<f64> =
            (0..n).map(|i| (i as f64 + 0.25 + 0.5 * self.unit()) / n as f64).collect();
        self.shuffle(&mut numbers);
        numbers
    }
}
