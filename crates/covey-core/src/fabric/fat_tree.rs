//! A FatTree of switches with `k` ports each.

use super::ecmp::{Ecmp, EcmpMode, Forwarded};
use super::{Fabric, FabricError, Topology};
use crate::values::ids::{LinkId, PortId};

/// A FatTree (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008) of switches with an even number `k` of
/// ports.
///
/// With `m = k / 2` it has `k` pods of `m` edge and `m` aggregation switches, `m²` core switches,
/// and `m` hosts at each edge switch: `k³/4` hosts and, with the hosts' own, `6 · k³/4` directed
/// links. Hosts and switches have numbers from 0: host `h` is at edge switch `h / m`, which is in
/// pod `h / m²`. Aggregation switch `a` of a pod is connected to the cores `a · m` to `a · m + m -
/// 1`.
///
/// # Paths
///
/// Two hosts at one edge switch use no inner link; that includes a host and itself. In one pod a
/// flow goes up to one aggregation switch and down again; across pods it also crosses one core.
/// Only the way up is a choice: from the edge switch to an aggregation switch, and from there to a
/// core.
///
/// [`EcmpMode::Modulo`] chooses without a hash. For hosts `src` and `dst` the aggregation switch is
/// `(src + dst) mod m`, and its core `(src / m + dst / m) mod m`, where `/` rounds down.
///
/// # Spraying
///
/// With [`EcmpMode::Spray`] a flow is divided equally over all shortest paths. All `m` uplinks of
/// an edge switch then carry the same load, at any time and whatever the flows are. So they are one
/// *bundle* here: a link of `m` times the capacity. The same holds for the `m²` links from the
/// aggregation switches of a pod to the cores, and for both ways down. A path then has up to four
/// bundles: out of the edge switch, out of the pod, into the pod, into the edge switch. This loses
/// nothing: a bundle is full exactly when each of its links is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTree {
    /// Half the number of a switch's ports.
    m: u32,
    ecmp: Ecmp,
}

/// The four tiers of inner links, in the order of their numbers.
const TIERS: [&str; 4] = ["edge up", "agg up", "agg down", "edge down"];

impl FatTree {
    /// A FatTree of switches with `k` ports, whose switches choose by `ecmp`.
    ///
    /// # Errors
    /// [`FabricError::Parameter`] unless `k` is even and from 2 to 254.
    pub fn new(k: u32, ecmp: Ecmp) -> Result<FatTree, FabricError> {
        if k % 2 == 1 || !(2..=254).contains(&k) {
            let expected = "an even number from 2 to 254";
            return Err(FabricError::Parameter { name: "k", expected, found: k });
        }
        Ok(FatTree { m: k / 2, ecmp })
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        2 * self.m.pow(3)
    }

    /// Number of edge switches.
    pub fn edge_switches(&self) -> u32 {
        2 * self.m * self.m
    }

    /// The whole network. Links carry `rate` bytes per second; those between edge and aggregation
    /// switches carry `rate / oversub`, in both directions.
    ///
    /// # Errors
    /// [`FabricError::Capacity`] if a capacity is not a finite number above zero.
    pub fn fabric(self, rate: f64, oversub: f64) -> Result<Fabric, FabricError> {
        let hosts = vec![rate; self.hosts() as usize];
        let counts = self.counts().map(|n| n as usize);
        let links =
            [self.m, self.m * self.m].map(|n| if self.sprays() { f64::from(n) } else { 1.0 });
        let (edge, agg) = (links[0] * rate / oversub, links[1] * rate);
        let inner = [
            vec![edge; counts[0]],
            vec![agg; counts[1]],
            vec![agg; counts[2]],
            vec![edge; counts[3]],
        ];
        Fabric::new(&hosts, &hosts, &inner.concat(), self)
    }

    fn sprays(&self) -> bool {
        self.ecmp.mode == EcmpMode::Spray
    }

    /// Number of links of each tier.
    fn counts(&self) -> [u32; 4] {
        let (edge, agg) = match self.ecmp.mode {
            EcmpMode::Spray => (self.edge_switches(), 2 * self.m),
            _ => (self.hosts(), self.hosts()),
        };
        [edge, agg, agg, edge]
    }

    /// Number of the first link of each tier.
    fn starts(&self) -> [u32; 4] {
        let [edge, agg, ..] = self.counts();
        [0, edge, edge + agg, edge + 2 * agg]
    }

    /// The tier of a link, and its number in the tier.
    fn place(&self, link: u32) -> (usize, u32) {
        let starts = self.starts();
        let tier = starts.iter().rposition(|&start| link >= start).unwrap_or(0);
        (tier, link - starts[tier])
    }
}

impl Topology for FatTree {
    fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        let (m, [edge_up, agg_up, agg_down, edge_down]) = (self.m, self.starts());
        let [from, to] = [src.0 / m, dst.0 / m];
        if from == to {
            return;
        }
        let [from_pod, to_pod] = [from / m, to / m];
        if self.sprays() {
            path.push(LinkId(edge_up + from));
            if from_pod != to_pod {
                path.extend([LinkId(agg_up + from_pod), LinkId(agg_down + to_pod)]);
            }
            path.push(LinkId(edge_down + to));
            return;
        }
        let of = Forwarded { src: src.0, dst: dst.0, flow };
        let sum = |a: u32, b: u32| u64::from(a) + u64::from(b);
        let agg = self.ecmp.choose(from, of, sum(src.0, dst.0), m);
        path.push(LinkId(edge_up + from * m + agg));
        if from_pod != to_pod {
            let switch = self.edge_switches() + from_pod * m + agg;
            let core = self.ecmp.choose(switch, of, sum(from, to), m);
            path.push(LinkId(agg_up + (from_pod * m + agg) * m + core));
            path.push(LinkId(agg_down + (to_pod * m + agg) * m + core));
        }
        path.push(LinkId(edge_down + to * m + agg));
    }

    fn tier(&self, link: u32) -> &str {
        TIERS[self.place(link).0]
    }

    fn link_name(&self, link: u32) -> String {
        let (tier, n) = self.place(link);
        let (switch, m) = (n / self.m, self.m);
        let agg = switch / m * m + n % m;
        let core = switch % m * m + n % m;
        match (self.sprays(), tier) {
            (true, 0) => format!("edge {n} to its {m} aggs"),
            (true, 1) => format!("pod {n} to all cores"),
            (true, 2) => format!("all cores to pod {n}"),
            (true, _) => format!("{m} aggs to edge {n}"),
            (false, 0) => format!("edge {switch} to agg {agg}"),
            (false, 1) => format!("agg {switch} to core {core}"),
            (false, 2) => format!("core {core} to agg {switch}"),
            (false, _) => format!("agg {agg} to edge {switch}"),
        }
    }

    fn edge_switch(&self, port: PortId) -> u32 {
        port.0 / self.m
    }
}
