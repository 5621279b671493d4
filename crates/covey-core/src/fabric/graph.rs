//! Any network of hosts, switches and links, with shortest paths.

use std::sync::OnceLock;

use super::ecmp::{Ecmp, EcmpMode, Forwarded};
use super::routes::Routes;
use super::{FabricError, Topology};
use crate::ids::{LinkId, PortId};

/// The hosts and switches of a [`Graph`], and the links between switches.
#[derive(Debug, Clone, Default)]
pub struct GraphParts {
    /// The switch that each host's two links lead to, by host.
    pub switch_of: Vec<u32>,
    /// Names of the hosts, by host.
    pub hosts: Vec<String>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// The switches at the beginning and at the end of each inner link.
    pub links: Vec<(u32, u32)>,
    /// Names of the tiers.
    pub tiers: Vec<String>,
    /// The tier of each inner link.
    pub tier_of: Vec<u16>,
}

/// A network that is listed link by link. Flows take shortest paths, or the path listed for their pair of
/// hosts.
///
/// A switch knows how far each of its neighbours is from the destination's switch, and chooses among the
/// nearest, in the order of their links ([`Ecmp`]). The distances to a switch are computed when the first
/// flow goes there: two bytes for each pair of a switch and a destination switch, and nothing for a pair
/// of hosts.
///
/// [`EcmpMode::Modulo`] chooses the next hop number `(x + y) mod n` of `n`, where `x` and `y` are the hosts'
/// numbers at the first switch, and rounded quotients by `n` after each choice. On a FatTree whose links are
/// listed in the order of their switches that is the rule of [`FatTree`](super::FatTree).
#[derive(Debug)]
pub struct Graph {
    parts: GraphParts,
    /// Links out of each switch.
    out: Adjacency,
    /// Links into each switch.
    into: Adjacency,
    routes: Routes,
    ecmp: Ecmp,
    /// By destination switch, the number of links from each switch to it; [`FAR`] if there is no way.
    distances: Vec<OnceLock<Box<[u16]>>>,
}

/// The distance to a switch that cannot be reached.
const FAR: u16 = u16::MAX;
/// Most pairs of a switch and a switch with hosts: the table of distances has two bytes for each.
const MAX_DISTANCES: u64 = 1 << 28;

/// Numbers of links, by switch, in ascending order.
#[derive(Debug)]
struct Adjacency {
    start: Vec<u32>,
    links: Vec<u32>,
}

impl Adjacency {
    fn new(switches: usize, ends: impl Iterator<Item = u32> + Clone) -> Adjacency {
        let mut start = vec![0; switches + 1];
        ends.clone().for_each(|switch| start[switch as usize + 1] += 1);
        (0..switches).for_each(|switch| start[switch + 1] += start[switch]);
        let mut next = start.clone();
        let mut links = vec![0; start[switches] as usize];
        for (link, switch) in (0..).zip(ends) {
            links[next[switch as usize] as usize] = link;
            next[switch as usize] += 1;
        }
        Adjacency { start, links }
    }

    fn of(&self, switch: u32) -> &[u32] {
        let switch = switch as usize;
        &self.links[self.start[switch] as usize..self.start[switch + 1] as usize]
    }
}

impl Graph {
    /// Most switches of a graph.
    pub const MAX_SWITCHES: usize = FAR as usize;

    /// A network of these parts, whose switches choose by `ecmp` where `routes` has no path for a pair of
    /// hosts. Switches are numbered by their names' order, links by their own; `routes` uses these numbers.
    ///
    /// # Errors
    /// [`FabricError::NoPath`] names two hosts without a path; [`FabricError::Parameter`] if there are too
    /// many switches, or if flows are to be sprayed: links of a graph carry unequal shares then.
    ///
    /// # Panics
    /// If a number in `parts` belongs to no switch or tier, or a list of `parts` has the wrong length.
    pub fn new(parts: GraphParts, routes: Routes, ecmp: Ecmp) -> Result<Graph, FabricError> {
        let switches = parts.switches.len();
        let too_many = |expected| {
            let found = u32::try_from(switches).unwrap_or(u32::MAX);
            FabricError::Parameter { name: "number of switches", expected, found }
        };
        if ecmp.mode == EcmpMode::Spray {
            return Err(FabricError::Spray);
        }
        if switches > Graph::MAX_SWITCHES {
            return Err(too_many("at most 65535"));
        }
        assert_eq!(parts.hosts.len(), parts.switch_of.len(), "each host has a name and a switch");
        assert_eq!(parts.links.len(), parts.tier_of.len(), "each link has a tier");
        let mut has_hosts = vec![false; switches];
        parts.switch_of.iter().for_each(|&switch| has_hosts[switch as usize] = true);
        let destinations = has_hosts.iter().filter(|has| **has).count();
        if destinations as u64 * switches as u64 > MAX_DISTANCES {
            return Err(too_many("at most 268435456 divided by the number of switches with hosts"));
        }
        let mut distances = Vec::new();
        distances.resize_with(switches, OnceLock::new);
        let graph = Graph {
            out: Adjacency::new(switches, parts.links.iter().map(|link| link.0)),
            into: Adjacency::new(switches, parts.links.iter().map(|link| link.1)),
            parts,
            routes,
            ecmp,
            distances,
        };
        graph.check_connected()?;
        Ok(graph)
    }

    /// Checks that each host has a path to each.
    fn check_connected(&self) -> Result<(), FabricError> {
        let Some(&first) = self.parts.switch_of.first() else { return Ok(()) };
        let from = |link: u32| self.parts.links[link as usize].0;
        let to = |link: u32| self.parts.links[link as usize].1;
        let back = search(first, &self.into, from);
        let forth = search(first, &self.out, to);
        let reaches = |d: &[u16]| self.parts.switch_of.iter().all(|&s| d[s as usize] != FAR);
        if reaches(&back) && reaches(&forth) {
            return Ok(());
        }
        // Some pairs have no shortest path, and each of them needs a route.
        let mut at_switch = vec![Vec::new(); self.parts.switches.len()];
        for (host, &switch) in (0..).zip(&self.parts.switch_of) {
            at_switch[switch as usize].push(host);
        }
        for (switch, sources) in (0..).zip(&at_switch).filter(|(_, hosts)| !hosts.is_empty()) {
            let distances = search(switch, &self.out, to);
            let is_far = |(_, at): &(u32, &u32)| distances[**at as usize] == FAR;
            let far: Vec<u32> =
                (0..).zip(&self.parts.switch_of).filter(is_far).map(|(host, _)| host).collect();
            for &src in sources {
                let has_route = |dst: u32| self.routes.path(PortId(src), PortId(dst)).is_some();
                if let Some(&dst) = far.iter().find(|dst| !has_route(**dst)) {
                    return Err(FabricError::NoPath { src, dst });
                }
            }
        }
        Ok(())
    }

    /// Number of links from each switch to `switch`.
    fn distances_to(&self, switch: u32) -> &[u16] {
        self.distances[switch as usize]
            .get_or_init(|| search(switch, &self.into, |link| self.parts.links[link as usize].0))
    }

    fn end(&self, link: u32) -> u32 {
        self.parts.links[link as usize].1
    }
}

/// The distance of each switch from `start`, over the links that `adjacency` gives for a switch and that
/// lead to the switch `next`.
fn search(start: u32, adjacency: &Adjacency, next: impl Fn(u32) -> u32) -> Box<[u16]> {
    let mut distances = vec![FAR; adjacency.start.len() - 1].into_boxed_slice();
    distances[start as usize] = 0;
    let mut queue = vec![start];
    let mut head = 0;
    while let Some(&switch) = queue.get(head) {
        head += 1;
        for &link in adjacency.of(switch) {
            let neighbour = next(link);
            if distances[neighbour as usize] == FAR {
                distances[neighbour as usize] = distances[switch as usize] + 1;
                queue.push(neighbour);
            }
        }
    }
    distances
}

impl Topology for Graph {
    fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        if let Some(listed) = self.routes.path(src, dst) {
            path.extend(listed.iter().map(|&link| LinkId(link)));
            return;
        }
        let [mut at, to] = [src, dst].map(|host| self.parts.switch_of[host.index()]);
        if at == to {
            return;
        }
        let of = Forwarded { src: src.0, dst: dst.0, flow };
        let (mut x, mut y) = (u64::from(src.0), u64::from(dst.0));
        let distances = self.distances_to(to);
        while at != to {
            let distance = distances[at as usize];
            let is_nearer = |link: &&u32| distances[self.end(**link) as usize] < distance;
            let nearer = self.out.of(at).iter().filter(is_nearer);
            let ways = nearer.clone().count() as u32;
            let way = self.ecmp.choose(at, of, x + y, ways);
            (x, y) = (x / u64::from(ways), y / u64::from(ways));
            let link = *nearer.clone().nth(way as usize).expect("a switch nearer to it");
            path.push(LinkId(link));
            at = self.end(link);
        }
    }

    fn tier(&self, link: u32) -> &str {
        &self.parts.tiers[self.parts.tier_of[link as usize] as usize]
    }

    fn link_name(&self, link: u32) -> String {
        let (from, to) = self.parts.links[link as usize];
        let name = |switch: u32| &self.parts.switches[switch as usize];
        let ends = self.out.of(from).iter().filter(|&&other| self.end(other) == to);
        let same: Vec<&u32> = ends.collect();
        match same.iter().position(|other| **other == link) {
            Some(n) if same.len() > 1 => format!("{} to {} ({})", name(from), name(to), n + 1),
            _ => format!("{} to {}", name(from), name(to)),
        }
    }

    fn host_name(&self, port: PortId) -> String {
        self.parts.hosts[port.index()].clone()
    }

    fn edge_switch(&self, port: PortId) -> u32 {
        self.parts.switch_of[port.index()]
    }
}
