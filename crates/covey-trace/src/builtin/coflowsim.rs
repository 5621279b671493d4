//! `coflowsim-custom`: the workload that CoflowSim makes without a trace. Swallow's Table VI (IPDPS
//! 2018) uses it, too.

use crate::MB;
use crate::java_random::JavaRandom;
use crate::workload::{Coflow, Flow, Workload};

/// A class of jobs.
struct Class {
    /// Smallest and largest number of mappers, and of reducers.
    width: (i32, i32),
    /// Smallest and largest MB of a flow.
    mb: (i32, i32),
    /// Percent of the jobs.
    percent: u32,
}

const CLASSES: [Class; 4] = [
    Class { width: (1, 5), mb: (1, 10), percent: 41 },
    Class { width: (1, 5), mb: (10, 1000), percent: 29 },
    Class { width: (5, 100), mb: (1, 10), percent: 9 },
    Class { width: (5, 100), mb: (10, 1000), percent: 21 },
];

/// Maximum of mappers, and minimum of racks.
pub(crate) const WIDEST: u32 = 100;

/// The parameters of the workload.
pub(crate) struct Custom {
    /// The seed of Java's random numbers.
    pub seed: u64,
    /// Requested number of jobs; each class gets its share, rounded down.
    pub jobs: u32,
    /// Number of racks, at least [`WIDEST`].
    pub ports: u32,
}

impl Custom {
    /// The workload: jobs class by class, all at time 0.
    pub fn generate(&self) -> Workload {
        let mut random = JavaRandom::new(self.seed as i64);
        let mut coflows = Vec::new();
        for class in &CLASSES {
            for _ in 0..u64::from(self.jobs) * u64::from(class.percent) / 100 {
                let id = (coflows.len() + 1).to_string();
                coflows.push(Coflow::new(id, 0.0, self.flows(class, &mut random)));
            }
        }
        Workload::new(self.ports, coflows)
    }

    fn flows(&self, class: &Class, random: &mut JavaRandom) -> Vec<Flow> {
        let mut mappers: Vec<u32> = Vec::new();
        for _ in 0..within(random, class.width) {
            let rack = self.rack(&mappers, random);
            mappers.push(rack);
        }
        let mut racks: Vec<u32> = Vec::new();
        let mut reducers: Vec<(u32, f64)> = Vec::new();
        for _ in 0..within(random, class.width) {
            let mb = within(random, class.mb);
            let rack = self.rack(&racks, random);
            racks.push(rack);
            reducers.push((rack, f64::from(mb) * MB));
        }
        let from = |&src: &u32| {
            reducers.iter().map(move |&(dst, bytes)| Flow { src, dst, bytes, start_s: 0.0 })
        };
        mappers.iter().flat_map(from).collect()
    }

    /// A random rack that is not taken.
    fn rack(&self, taken: &[u32], random: &mut JavaRandom) -> u32 {
        loop {
            let rack = random.next_int(self.ports as i32) as u32;
            if !taken.contains(&rack) {
                return rack;
            }
        }
    }
}

/// A number from `min` to `max`, both included.
fn within(random: &mut JavaRandom, (min, max): (i32, i32)) -> i32 {
    random.next_int(max - min + 1) + min
}
