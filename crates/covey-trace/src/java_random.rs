//! `java.util.Random`, from the algorithm that its documentation fixes: a linear congruential
//! generator of 48 bits (Knuth, The Art of Computer Programming, volume 2, 3.2.1).

/// A generator with the results of `java.util.Random` for the same seed and calls.
#[derive(Debug, Clone)]
pub struct JavaRandom {
    state: u64,
}

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

impl JavaRandom {
    /// `new Random(seed)`.
    pub fn new(seed: i64) -> Self {
        Self { state: (seed as u64 ^ MULTIPLIER) & MASK }
    }

    /// The upper `bits` of the next state, at most 32, as Java's signed integer.
    fn next(&mut self, bits: u32) -> i32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.state >> (48 - bits)) as i32
    }

    /// `nextInt(bound)`: from 0 to below `bound`, which must be positive.
    pub fn next_int(&mut self, bound: i32) -> i32 {
        let bound = bound.max(1);
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(self.next(31))) >> 31) as i32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // In Java the sum overflows at the last, incomplete run of `bound` numbers.
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
        }
    }

    /// `nextDouble()`: from 0 to below 1.
    pub fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        (high + i64::from(self.next(27))) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The numbers are those that Java 17 prints.

    #[test]
    fn integers_as_java_draws_them() {
        let mut random = JavaRandom::new(13);
        let huge = (1 << 30) + 1; // rejects almost half of the numbers drawn
        let bounds = [5, 100, 1000, 64, 991, 1 << 30, huge, huge, huge, 96];
        let drawn = bounds.map(|bound| random.next_int(bound));
        let java = [2, 0, 375, 1, 542, 818_677_855, 346_163_213, 881_076_856, 173_737_060, 84];
        assert_eq!(drawn, java);
    }

    #[test]
    fn another_seed() {
        let mut random = JavaRandom::new(42);
        assert_eq!([(); 10].map(|()| random.next_int(10)), [0, 3, 8, 4, 0, 5, 5, 8, 9, 3]);
    }

    #[test]
    fn doubles_as_java_draws_them() {
        let mut random = JavaRandom::new(17);
        let drawn = [(); 4].map(|()| random.next_double());
        let java =
            [0.7323115139597316, 0.6973704783607497, 0.08295611145017068, 0.8162364511057306];
        assert_eq!(drawn, java);
    }

    #[test]
    fn negative_seeds() {
        let mut random = JavaRandom::new(-1);
        assert_eq!([(); 4].map(|()| random.next_int(100)), [13, 25, 79, 39]);
    }
}
