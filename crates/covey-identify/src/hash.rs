//! A hash that is the same on every machine and in every run. Nothing depends on the order of a
//! map.

use std::hash::{BuildHasherDefault, Hasher};

/// A map with this hash.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;

/// Multiplies and folds each word: fast, and good enough for what is hashed already.
#[derive(Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xda94_2042_e4dd_58b5;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// The hash of one number of 128 bits.
pub(crate) fn hash(word: u128) -> u64 {
    let mut mix = Mix::default();
    mix.write_u64((word >> 64) as u64);
    mix.write_u64(word as u64);
    mix.write_u64(1);
    mix.finish()
}
