//! How a switch chooses one of several next hops (equal-cost multipath, ECMP).

use crate::values::split_mix::SplitMix;

/// What decides between equally long ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcmpMode {
    /// A hash of the flow's number.
    #[default]
    Flow,
    /// A hash of source and destination: all flows of a pair of hosts take one way.
    Pair,
    /// Remainders of host numbers, without a hash. Choices are easy to follow by hand, and
    /// polarise.
    Modulo,
    /// No choice: a flow is divided equally over all shortest paths.
    Spray,
}

impl EcmpMode {
    /// All modes, each with its name.
    pub const ALL: [(&'static str, EcmpMode); 4] = [
        ("flow", EcmpMode::Flow),
        ("pair", EcmpMode::Pair),
        ("modulo", EcmpMode::Modulo),
        ("spray", EcmpMode::Spray),
    ];
}

/// The way in which the switches of a network choose.
///
/// Each switch hashes with a seed of its own, which follows from the network's `seed` and the
/// number of the switch. With one seed for all, switches behind a choice would choose alike (they
/// *polarise*), and some links would carry nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ecmp {
    /// What decides.
    pub mode: EcmpMode,
    /// Seed of all hashes.
    pub seed: u64,
}

/// The flow that a switch forwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forwarded {
    /// Source host.
    pub src: u32,
    /// Destination host.
    pub dst: u32,
    /// Number of the flow.
    pub flow: u64,
}

impl Ecmp {
    /// The choice of the switch with the number `switch` among `ways` ways, from 0. `remainder_of`
    /// is what [`EcmpMode::Modulo`] divides by `ways`.
    ///
    /// With [`EcmpMode::Spray`] there is no choice to make; the result is 0.
    pub(super) fn choose(self, switch: u32, of: Forwarded, remainder_of: u64, ways: u32) -> u32 {
        let key = match self.mode {
            EcmpMode::Flow => of.flow,
            EcmpMode::Pair => u64::from(of.src) << 32 | u64::from(of.dst),
            EcmpMode::Modulo => return (remainder_of % u64::from(ways)) as u32,
            EcmpMode::Spray => return 0,
        };
        let own_seed = SplitMix::new(SplitMix::new(self.seed).next_u64() ^ u64::from(switch));
        let hashed = SplitMix::new(own_seed.clone().next_u64() ^ SplitMix::new(key).next_u64());
        hashed.clone().below(u64::from(ways)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_choose_independently_of_each_other() {
        let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
        let mut times = [[0_u32; 4]; 4];
        for flow in 0..16_000 {
            let of = Forwarded { src: 0, dst: 1, flow };
            let way = |switch| ecmp.choose(switch, of, 0, 4) as usize;
            times[way(7)][way(8)] += 1;
        }
        // 1,000 are expected of each pair of choices; the standard deviation is 31.
        assert!(times.iter().flatten().all(|n| (850..1150).contains(n)), "{times:?}");
    }

    #[test]
    fn a_pair_has_one_way_and_each_seed_its_own() {
        let choice = |seed, flow| {
            let of = Forwarded { src: 3, dst: 9, flow };
            Ecmp { mode: EcmpMode::Pair, seed }.choose(5, of, 0, 1000)
        };
        assert!((0..100).all(|flow| choice(1, flow) == choice(1, 0)));
        assert_ne!(choice(1, 0), choice(2, 0));
    }
}
