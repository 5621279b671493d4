//! CUSTOM: the workload the program makes where it is given no trace, which is that of Swallow's
//! Table VI.

use covey_trace::{Coflow, Flow, MB, Workload};

use crate::emulate::java_random::JavaRandom;

/// Its parameters; the default is the program's.
#[derive(Debug, Clone, PartialEq)]
pub struct Custom {
    /// Number of racks; no width may be larger.
    pub racks: i32,
    /// How many coflows are asked for. Each class has the whole number below its share of them.
    pub coflows: u32,
    /// The seed.
    pub seed: i64,
    /// The classes.
    pub classes: Vec<Class>,
}

/// A class of coflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The least and the largest number of mappers, and of reducers.
    pub width: (i32, i32),
    /// The least and the largest MB of a flow.
    pub flow_mb: (i32, i32),
    /// The share of coflows, relative to those of the other classes.
    pub share: f64,
}

impl Default for Custom {
    fn default() -> Self {
        let class = |width, flow_mb, share| Class { width, flow_mb, share };
        Self {
            racks: 100,
            coflows: 10,
            seed: 13,
            classes: vec![
                class((1, 5), (1, 10), 41.0),
                class((1, 5), (10, 1000), 29.0),
                class((5, 100), (1, 10), 9.0),
                class((5, 100), (10, 1000), 21.0),
            ],
        }
    }
}

impl Custom {
    /// The workload; all coflows arrive at 0.
    pub fn generate(&self) -> Workload {
        let mut random = JavaRandom::new(self.seed);
        let shares: f64 = self.classes.iter().map(|class| class.share).sum();
        let mut coflows = Vec::new();
        for class in &self.classes {
            for _ in 0..(f64::from(self.coflows) * class.share / shares) as u32 {
                let flows = self.shuffle(class, &mut random);
                coflows.push(Coflow::new(coflows.len().to_string(), 0.0, flows));
            }
        }
        Workload { ports: self.racks.unsigned_abs(), coflows }
    }

    /// One shuffle: first all mappers, then reducer by reducer its MB and its rack.
    fn shuffle(&self, class: &Class, random: &mut JavaRandom) -> Vec<Flow> {
        let between = |random: &mut JavaRandom, (least, most): (i32, i32)| {
            random.next_int(most - least + 1) + least
        };
        let mut taken = Vec::new();
        for _ in 0..between(random, class.width) {
            taken.push(self.rack(&taken, random));
        }
        let mappers = std::mem::take(&mut taken);
        let mut mb = Vec::new();
        for _ in 0..between(random, class.width) {
            mb.push(between(random, class.flow_mb));
            taken.push(self.rack(&taken, random));
        }
        let mut flows = Vec::with_capacity(mappers.len() * taken.len());
        for src in mappers {
            let flow = |(&dst, &mb)| Flow { src, dst, bytes: f64::from(mb) * MB, start_s: 0.0 };
            flows.extend(taken.iter().zip(&mb).map(flow));
        }
        flows
    }

    /// A rack that is not taken; drawn again until it is not.
    fn rack(&self, taken: &[u32], random: &mut JavaRandom) -> u32 {
        loop {
            let rack = random.next_int(self.racks).unsigned_abs();
            if !taken.contains(&rack) || taken.len() >= self.racks.unsigned_abs() as usize {
                return rack;
            }
        }
    }
}
