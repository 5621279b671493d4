//! `coflowsim-custom`: the workload that CoflowSim makes when it is given no trace, which is also
//! that of Swallow's Table VI (IPDPS 2018).

use crate::MB;
use crate::workload::{Coflow, Flow, Workload};

/// A class of jobs.
struct Class {
    /// Least and most mappers, and reducers.
    width: (u32, u32),
    /// Least and most MB of a flow.
    mb: (u32, u32),
    /// Percent of the jobs.
    percent: u32,
}

const CLASSES: [Class; 4] = [
    Class { width: (1, 5), mb: (1, 10), percent: 41 },
    Class { width: (1, 5), mb: (10, 1000), percent: 29 },
    Class { width: (5, 100), mb: (1, 10), percent: 9 },
    Class { width: (5, 100), mb: (10, 1000), percent: 21 },
];

/// Most mappers, and so fewest racks.
pub(crate) const WIDEST: u32 = 100;

/// What may be chosen about the workload.
pub(crate) struct Custom {
    /// The seed of Java's random numbers.
    pub seed: u64,
    /// Jobs asked for; each class gets its share, rounded down.
    pub jobs: u32,
    /// Number of racks, at least [`WIDEST`].
    pub ports: u32,
}

impl Custom {
    /// The workload: jobs class by class, all at time 0.
    pub fn generate(&self) -> Workload {
        let mut random = JavaRandom::new(self.seed);
        let mut coflows = Vec::new();
        for class in &CLASSES {
            for _ in 0..u64::from(self.jobs) * u64::from(class.percent) / 100 {
                let id = (coflows.len() + 1).to_string();
                coflows.push(Coflow::new(id, 0.0, self.flows(class, &mut random)));
            }
        }
        Workload { ports: self.ports, coflows }
    }

    fn flows(&self, class: &Class, random: &mut JavaRandom) -> Vec<Flow> {
        let mut mappers: Vec<u32> = Vec::new();
        for _ in 0..random.within(class.width) {
            let rack = self.rack(&mappers, random);
            mappers.push(rack);
        }
        let mut racks: Vec<u32> = Vec::new();
        let mut reducers: Vec<(u32, f64)> = Vec::new();
        for _ in 0..random.within(class.width) {
            let mb = random.within(class.mb);
            let rack = self.rack(&racks, random);
            racks.push(rack);
            reducers.push((rack, f64::from(mb) * MB));
        }
        let from = |&src: &u32| {
            reducers.iter().map(move |&(dst, bytes)| Flow { src, dst, bytes, start_s: 0.0 })
        };
        mappers.iter().flat_map(from).collect()
    }

    /// A rack that is not taken.
    fn rack(&self, taken: &[u32], random: &mut JavaRandom) -> u32 {
        loop {
            let rack = random.below(self.ports);
            if !taken.contains(&rack) {
                return rack;
            }
        }
    }
}

/// The generator that the documentation of `java.util.Random` specifies: a linear congruential one
/// of 48 bits.
struct JavaRandom(u64);

impl JavaRandom {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> JavaRandom {
        JavaRandom((seed ^ Self::FACTOR) & Self::MASK)
    }

    /// The highest `bits` (up to 31) of the next state.
    fn next(&mut self, bits: u32) -> u32 {
        self.0 = self.0.wrapping_mul(Self::FACTOR).wrapping_add(0xB) & Self::MASK;
        (self.0 >> (48 - bits)) as u32
    }

    /// `nextInt(bound)`.
    fn below(&mut self, bound: u32) -> u32 {
        if bound.is_power_of_two() {
            return ((u64::from(bound) * u64::from(self.next(31))) >> 31) as u32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // A last, incomplete run of values would make small ones more likely.
            if bits - value + (bound - 1) <= i32::MAX as u32 {
                return value;
            }
        }
    }

    /// A number from the first to the second, both included.
    fn within(&mut self, (least, most): (u32, u32)) -> u32 {
        self.below(most - least + 1) + least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_java() {
        // new Random(42): nextInt(10) gives 0, 3, 8, 4, 0, 5, 5, 8, 9, 3.
        let mut random = JavaRandom::new(42);
        let drawn: Vec<u32> = (0..10).map(|_| random.below(10)).collect();
        assert_eq!(drawn, [0, 3, 8, 4, 0, 5, 5, 8, 9, 3]);
    }
}
