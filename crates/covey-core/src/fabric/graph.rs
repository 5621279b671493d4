//! Any network of hosts, switches and links, with shortest paths.

use std::sync::OnceLock;

use super::ecmp::{Ecmp, EcmpMode, Forwarded};
use super::routes::Routes;
use super::{FabricError, Topology};
use crate::values::ids::{LinkId, PortId};

/// The hosts and nodes of a [`Graph`], and the links between nodes.
///
/// A node is a switch, or a host with other links than one to a switch and one back. Such a host is
/// its own node, and all its links are inner links. Its port stands for the set of them and limits
/// nothing.
#[derive(Debug, Clone, Default)]
pub struct GraphParts {
    /// The node that each host's port leads to, by host: its switch, or itself.
    pub node_of: Vec<u32>,
    /// The switch of each host by which hosts are grouped; a node that is a host where its first
    /// link leads to one.
    pub edge_of: Vec<u32>,
    /// Names of the hosts, by host.
    pub hosts: Vec<String>,
    /// Names of the nodes: of switches, then of hosts.
    pub nodes: Vec<String>,
    /// Number of nodes that are switches.
    pub switches: u32,
    /// The nodes at the beginning and at the end of each inner link.
    pub links: Vec<(u32, u32)>,
    /// Speed of each inner link in bytes per second, by which hosts choose.
    pub speeds: Vec<f64>,
    /// Names of the tiers.
    pub tiers: Vec<String>,
    /// The tier of each inner link.
    pub tier_of: Vec<u16>,
}

/// A network that is listed link by link. Flows take shortest paths, or the path listed for their
/// pair of hosts.
///
/// A switch knows how far each of its neighbours is from the destination's node, and chooses among
/// the nearest, in the order of their links ([`Ecmp`]). A host that is a node chooses among the
/// fastest of the links to the nearest. It passes on what comes from another host and goes to
/// another host, as in a ring or a torus, and nothing else: hosts are no way between switches.
///
/// The distances to a node are computed when the first flow goes there: two bytes for each pair of
/// a node and a destination node, and nothing for a pair of hosts.
///
/// [`EcmpMode::Modulo`] chooses the next hop number `(x + y) mod n` of `n`, where `x` and `y` are
/// the hosts' numbers at the first switch, and rounded quotients by `n` after each choice. On a
/// FatTree whose links are listed in the order of their switches that is the rule of
/// [`FatTree`](super::FatTree).
#[derive(Debug)]
pub struct Graph {
    parts: GraphParts,
    /// Links out of each node.
    out: Adjacency,
    /// Links into each node.
    into: Adjacency,
    routes: Routes,
    ecmp: Ecmp,
    /// By destination node, the number of links to it from each node that passes flows on; [`FAR`]
    /// if there is no way.
    distances: Vec<OnceLock<Box<[u16]>>>,
}

/// The distance to a node that cannot be reached.
const FAR: u16 = u16::MAX;
/// Most pairs of a node and a node with hosts: the table of distances has two bytes for each.
const MAX_DISTANCES: u64 = 1 << 28;

/// Numbers of links, by node, in ascending order.
#[derive(Debug)]
struct Adjacency {
    start: Vec<u32>,
    links: Vec<u32>,
}

impl Adjacency {
    /// The links of `nodes` nodes; `ends` has the node of each link, by link.
    fn new(nodes: usize, ends: impl Iterator<Item = u32> + Clone) -> Adjacency {
        let mut start = vec![0; nodes + 1];
        ends.clone().for_each(|node| start[node as usize + 1] += 1);
        (0..nodes).for_each(|node| start[node + 1] += start[node]);
        let mut next = start.clone();
        let mut links = vec![0; start[nodes] as usize];
        for (link, node) in (0..).zip(ends) {
            links[next[node as usize] as usize] = link;
            next[node as usize] += 1;
        }
        Adjacency { start, links }
    }

    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.links[self.start[node] as usize..self.start[node + 1] as usize]
    }
}

impl Graph {
    /// Most nodes of a graph.
    pub const MAX_NODES: usize = FAR as usize;

    /// A network of these parts, whose nodes choose by `ecmp` where `routes` has no path for a pair
    /// of hosts. Nodes are numbered by their names' order, links by their own; `routes` uses these
    /// numbers.
    ///
    /// # Errors
    /// [`FabricError::NoPath`] names two hosts without a path; [`FabricError::Parameter`] if there
    /// are too many nodes, or if flows are to be sprayed: links of a graph carry unequal shares
    /// then.
    ///
    /// # Panics
    /// If a number in `parts` belongs to no node or tier, or a list of `parts` has the wrong
    /// length.
    pub fn new(parts: GraphParts, routes: Routes, ecmp: Ecmp) -> Result<Graph, FabricError> {
        let nodes = parts.nodes.len();
        let too_many = |expected| {
            let found = u32::try_from(nodes).unwrap_or(u32::MAX);
            FabricError::Parameter {
                name: "number of switches and hosts with several links",
                expected,
                found,
            }
        };
        if ecmp.mode == EcmpMode::Spray {
            return Err(FabricError::Spray);
        }
        if nodes > Graph::MAX_NODES {
            return Err(too_many("at most 65535"));
        }
        assert_eq!(parts.hosts.len(), parts.node_of.len(), "each host has a name and a node");
        assert_eq!(parts.hosts.len(), parts.edge_of.len(), "each host has a name and a switch");
        assert_eq!(parts.links.len(), parts.tier_of.len(), "each link has a tier");
        assert_eq!(parts.links.len(), parts.speeds.len(), "each link has a speed");
        let mut has_hosts = vec![false; nodes];
        parts.node_of.iter().for_each(|&node| has_hosts[node as usize] = true);
        let destinations = has_hosts.iter().filter(|has| **has).count();
        if destinations as u64 * nodes as u64 > MAX_DISTANCES {
            return Err(too_many("at most 268435456 divided by the number of those with hosts"));
        }
        let mut distances = Vec::new();
        distances.resize_with(nodes, OnceLock::new);
        let graph = Graph {
            out: Adjacency::new(nodes, parts.links.iter().map(|link| link.0)),
            into: Adjacency::new(nodes, parts.links.iter().map(|link| link.1)),
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
        let Some(&first) = self.parts.node_of.first() else { return Ok(()) };
        // Where every node is a switch, all hosts reach each other if they reach the first and it
        // reaches them.
        if self.parts.nodes.len() == self.parts.switches as usize {
            let reaches = |d: &[u16]| self.parts.node_of.iter().all(|&s| d[s as usize] != FAR);
            if reaches(&self.search(first, &self.into)) && reaches(&self.search(first, &self.out)) {
                return Ok(());
            }
        }
        // Each pair without a shortest path needs a route.
        let mut at_node = vec![Vec::new(); self.parts.nodes.len()];
        for (host, &node) in (0..).zip(&self.parts.node_of) {
            at_node[node as usize].push(host);
        }
        let mut missing: Option<(u32, u32)> = None;
        for (node, at) in (0..).zip(&at_node).filter(|(_, hosts)| !hosts.is_empty()) {
            let distances = self.search(node, &self.into);
            for (src, &from) in (0..).zip(&self.parts.node_of) {
                if from == node || self.distance(from, node, &distances) != FAR {
                    continue;
                }
                let has_route = |dst: u32| self.routes.path(PortId(src), PortId(dst)).is_some();
                let dst = at.iter().copied().find(|dst| !has_route(*dst));
                let pair = dst.map(|dst| (src, dst));
                missing = [missing, pair].into_iter().flatten().min();
            }
        }
        missing.map_or(Ok(()), |(src, dst)| Err(FabricError::NoPath { src, dst }))
    }

    /// Number of links to `to` from each node that passes flows on.
    fn distances_to(&self, to: u32) -> &[u16] {
        self.distances[to as usize].get_or_init(|| self.search(to, &self.into))
    }

    /// Number of links from the node of a sender to another node, given the distances to that.
    fn distance(&self, from: u32, to: u32, distances: &[u16]) -> u16 {
        if from == to || !self.is_host(from) {
            return distances[from as usize];
        }
        let nearest =
            self.out.of(from).iter().map(|&link| distances[self.end(link) as usize]).min();
        nearest.unwrap_or(FAR).saturating_add(1)
    }

    fn is_host(&self, node: u32) -> bool {
        node >= self.parts.switches
    }

    fn end(&self, link: u32) -> u32 {
        self.parts.links[link as usize].1
    }

    /// The distance of each node from `start`, over the links that `adjacency` gives for a node:
    /// those into it, or out of it. A switch passes on to switches, a host to hosts.
    fn search(&self, start: u32, adjacency: &Adjacency) -> Box<[u16]> {
        let mut distances = vec![FAR; self.parts.nodes.len()].into_boxed_slice();
        distances[start as usize] = 0;
        let mut queue = vec![start];
        let mut head = 0;
        while let Some(&node) = queue.get(head) {
            head += 1;
            for &link in adjacency.of(node) {
                let (from, to) = self.parts.links[link as usize];
                let neighbour = if from == node { to } else { from };
                let is_end = node == start && self.is_host(start);
                let passes_on = is_end || self.is_host(node) == self.is_host(neighbour);
                if passes_on && distances[neighbour as usize] == FAR {
                    distances[neighbour as usize] = distances[node as usize] + 1;
                    queue.push(neighbour);
                }
            }
        }
        distances
    }

    /// The links out of a node by which a flow may go on to `to`: those to the nearest neighbours,
    /// and of a host that sends the flow the fastest of them.
    fn ways(
        &self,
        at: u32,
        to: u32,
        is_sender: bool,
        distances: &[u16],
    ) -> impl Iterator<Item = u32> + Clone {
        let chooses = is_sender && self.is_host(at);
        let distance = match chooses {
            true => self.distance(at, to, distances),
            false => distances[at as usize],
        };
        let is_nearer = move |link: &u32| {
            let next = self.end(*link);
            let passes_on = chooses || next == to || self.is_host(at) == self.is_host(next);
            passes_on && distances[next as usize] < distance
        };
        let nearer = self.out.of(at).iter().copied().filter(is_nearer);
        let speed = |link: u32| self.parts.speeds[link as usize];
        let fastest = nearer.clone().map(speed).fold(0.0, f64::max);
        nearer.filter(move |&link| !chooses || speed(link) == fastest)
    }
}

impl Topology for Graph {
    fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        if let Some(listed) = self.routes.path(src, dst) {
            path.extend(listed.iter().map(|&link| LinkId(link)));
            return;
        }
        let [mut at, to] = [src, dst].map(|host| self.parts.node_of[host.index()]);
        if at == to {
            // Two hosts at one switch need no inner link. A host that is a node sends to itself
            // over its first links.
            if self.is_host(at) {
                let links = [&self.out, &self.into].map(|links| links.of(at).first());
                path.extend(links.into_iter().flatten().map(|&link| LinkId(link)));
            }
            return;
        }
        let of = Forwarded { src: src.0, dst: dst.0, flow };
        // What `EcmpMode::Modulo` chooses by: the hosts' numbers, and after each choice their
        // rounded quotients by the number of ways.
        let (mut x, mut y) = (u64::from(src.0), u64::from(dst.0));
        let distances = self.distances_to(to);
        let mut is_sender = true;
        // Each way leads to a node nearer to `to`. `Graph::new` has checked that there is one for
        // each pair without a listed path.
        while at != to {
            let ways = self.ways(at, to, is_sender, distances);
            let count = ways.clone().count() as u32;
            let way = self.ecmp.choose(at, of, x + y, count);
            (x, y) = (x / u64::from(count), y / u64::from(count));
            let link = ways.clone().nth(way as usize).expect("a node nearer to it");
            path.push(LinkId(link));
            at = self.end(link);
            is_sender = false;
        }
    }

    fn tier(&self, link: u32) -> &str {
        &self.parts.tiers[self.parts.tier_of[link as usize] as usize]
    }

    fn link_name(&self, link: u32) -> String {
        let (from, to) = self.parts.links[link as usize];
        let name = |node: u32| &self.parts.nodes[node as usize];
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
        self.parts.edge_of[port.index()]
    }

    fn is_set_of_links(&self, port: PortId) -> bool {
        self.is_host(self.parts.node_of[port.index()])
    }
}
