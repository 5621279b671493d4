//! A network that is being read.

use std::collections::{BTreeMap, HashMap};

use covey_core::{Ecmp, EcmpMode, Fabric, FabricError, Graph, GraphParts, PortId, Routes};
use covey_trace::TraceError;
use covey_trace::text::{Location, quote};

/// Most hosts of a topology file.
pub(super) const MAX_HOSTS: usize = 1_000_000;
/// Most links between switches of a topology file, each direction for itself.
pub(super) const MAX_LINKS: usize = 4_000_000;
/// Most tiers of a topology file.
const MAX_TIERS: usize = 1_000;
/// Most links of all routes of a topology file together.
const MAX_ROUTE_LINKS: usize = 10_000_000;
/// Most bytes of a name.
const MAX_NAME_BYTES: usize = 64;

/// The port of a host with several links limits nothing: it has the speed of all its links, times
/// this.
const NO_LIMIT: f64 = (1_u64 << 20) as f64;
/// Tiers of links without one: between switches, and of hosts with several links.
const INNER: &str = "inner";
const HOST_UP: &str = "host up";
const HOST_DOWN: &str = "host down";
const BETWEEN_HOSTS: &str = "between hosts";

/// A host or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A host, by its number.
    Host(u32),
    /// A switch, by its number.
    Switch(u32),
}

/// Capacity in bytes per second and latency in seconds of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Speed {
    pub capacity: f64,
    pub latency_s: f64,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy)]
struct Link {
    ends: [Node; 2],
    speed: Speed,
    tier: Option<u16>,
}

/// A host as far as it is read.
#[derive(Debug, Clone, Copy)]
struct HostLinks {
    /// The line that names the host.
    line: u64,
    /// Number of its links out and in, and the number of the first of each.
    out: (u32, u32),
    into: (u32, u32),
}

/// A route: the line, the hosts, and the nodes between them.
#[derive(Debug)]
struct Route {
    line: u64,
    ends: [u32; 2],
    nodes: Vec<Node>,
}

/// A network that is being read: nodes, links between them, and routes.
#[derive(Debug, Default)]
pub(super) struct Draft {
    parts: GraphParts,
    nodes: HashMap<String, Node>,
    hosts: Vec<HostLinks>,
    links: Vec<Link>,
    routes: Vec<Route>,
    route_links: usize,
    pub ecmp: EcmpMode,
}

impl Draft {
    /// Adds a host or a switch.
    pub fn add(&mut self, at: Location<'_>, name: &str, is_host: bool) -> Result<Node, TraceError> {
        let (field, count, max) = match is_host {
            true => ("hosts", self.parts.hosts.len(), MAX_HOSTS),
            false => ("switches", self.parts.nodes.len(), Graph::MAX_NODES),
        };
        if count == max {
            return Err(at.bad(field, format_args!("at most {max}"), "more"));
        }
        if name.len() > MAX_NAME_BYTES {
            let expected = format_args!("names of at most {MAX_NAME_BYTES} bytes");
            return Err(at.bad(field, expected, quote(name)));
        }
        let node = if is_host { Node::Host(count as u32) } else { Node::Switch(count as u32) };
        if self.nodes.insert(name.to_owned(), node).is_some() {
            let found = format_args!("{} twice", quote(name));
            return Err(at.bad(field, "each name once", found));
        }
        if is_host {
            self.parts.hosts.push(name.to_owned());
            self.hosts.push(HostLinks { line: at.line, out: (0, 0), into: (0, 0) });
        } else {
            self.parts.nodes.push(name.to_owned());
        }
        Ok(node)
    }

    /// The node of a name.
    pub fn node(&self, at: Location<'_>, field: &str, name: &str) -> Result<Node, TraceError> {
        let expected = "the name of a host or switch";
        self.nodes.get(name).copied().ok_or_else(|| at.bad(field, expected, quote(name)))
    }

    /// The number of a tier's name.
    pub fn tier(&mut self, at: Location<'_>, name: &str) -> Result<u16, TraceError> {
        if let Some(known) = self.parts.tiers.iter().position(|tier| tier == name) {
            return Ok(known as u16);
        }
        if self.parts.tiers.len() == MAX_TIERS || name.len() > MAX_NAME_BYTES || name.is_empty() {
            let expected = format_args!("at most {MAX_TIERS} names of 1 to {MAX_NAME_BYTES} bytes");
            return Err(at.bad("tier", expected, quote(name)));
        }
        self.parts.tiers.push(name.to_owned());
        Ok(self.parts.tiers.len() as u16 - 1)
    }

    /// Adds one direction of a link.
    pub fn connect(
        &mut self,
        at: Location<'_>,
        ends: [Node; 2],
        speed: Speed,
        tier: Option<u16>,
    ) -> Result<(), TraceError> {
        if ends[0] == ends[1] {
            return Err(at.bad("link", "two different nodes", "one node twice"));
        }
        if self.links.len() == MAX_LINKS + 2 * MAX_HOSTS {
            return Err(at.bad("link", format_args!("at most {MAX_LINKS} links"), "more"));
        }
        let number = self.links.len() as u32;
        let count = |links: &mut (u32, u32)| {
            *links = (links.0 + 1, if links.0 == 0 { number } else { links.1 });
        };
        if let Node::Host(host) = ends[0] {
            count(&mut self.hosts[host as usize].out);
        }
        if let Node::Host(host) = ends[1] {
            count(&mut self.hosts[host as usize].into);
        }
        self.links.push(Link { ends, speed, tier });
        Ok(())
    }

    fn host(&self, host: u32) -> String {
        quote(&self.parts.hosts[host as usize])
    }

    fn name(&self, node: Node) -> String {
        match node {
            Node::Host(host) => self.host(host),
            Node::Switch(switch) => quote(&self.parts.nodes[switch as usize]),
        }
    }

    /// Adds the route from a host to another over these nodes.
    pub fn route(
        &mut self,
        at: Location<'_>,
        ends: [u32; 2],
        nodes: Vec<Node>,
    ) -> Result<(), TraceError> {
        // An empty route counts, too.
        self.route_links += nodes.len() + 1;
        if self.route_links > MAX_ROUTE_LINKS {
            let expected = format_args!("at most {MAX_ROUTE_LINKS} links of all routes together");
            return Err(at.bad("route", expected, "more"));
        }
        self.routes.push(Route { line: at.line, ends, nodes });
        Ok(())
    }

    /// The switch to which a host has its only link, and from which it has its only link back.
    fn only_switch(&self, host: u32) -> Option<u32> {
        let HostLinks { out: (1, out), into: (1, into), .. } = self.hosts[host as usize] else {
            return None;
        };
        match (self.links[out as usize].ends[1], self.links[into as usize].ends[0]) {
            (Node::Switch(to), Node::Switch(from)) if from == to => Some(to),
            _ => None,
        }
    }

    /// The whole network. `end` is the end of the file.
    pub fn finish(mut self, end: Location<'_>) -> Result<FileTopology, TraceError> {
        if self.parts.hosts.is_empty() {
            return Err(end.bad("hosts", "at least one", "none"));
        }
        self.parts.switches = self.parts.nodes.len() as u32;
        self.number_hosts(end)?;
        let (host_speeds, speeds, link_between) = self.number_links(end)?;
        let inner = u32::try_from(self.parts.links.len()).unwrap_or(u32::MAX);
        let listed = self.listed_routes(end, &link_between)?;
        let routes = Routes::new(inner, listed)
            .map_err(|error| end.bad("route", "links that exist, each once", error))?;
        Ok(FileTopology {
            parts: self.parts,
            routes,
            ecmp: self.ecmp,
            host_speeds,
            speeds,
            lines: self.hosts.iter().map(|host| host.line).collect(),
        })
    }

    /// Finds the node and the switch of each host. A host with other links than one to a switch and
    /// one back is a node.
    fn number_hosts(&mut self, end: Location<'_>) -> Result<(), TraceError> {
        for host in 0..self.hosts.len() as u32 {
            let HostLinks { line, out, into } = self.hosts[host as usize];
            if out.0 == 0 || into.0 == 0 {
                let found = if out.0 > 0 { "one in one direction" } else { "none out of it" };
                let at = Location { line, ..end };
                let field = format_args!("host {}", self.host(host));
                return Err(at.bad(field, "a link out of it and one into it", found));
            }
            let (node, edge) = match (self.only_switch(host), self.links[out.1 as usize].ends[1]) {
                (Some(switch), _) => (switch, switch),
                (None, first) => {
                    let node = self.parts.nodes.len() as u32;
                    self.parts.nodes.push(self.parts.hosts[host as usize].clone());
                    (node, if let Node::Switch(switch) = first { switch } else { node })
                }
            };
            self.parts.node_of.push(node);
            self.parts.edge_of.push(edge);
        }
        Ok(())
    }

    /// The number of a node: none for a host whose switch is its node.
    fn node_number(&self, node: Node) -> Option<u32> {
        match node {
            Node::Switch(switch) => Some(switch),
            Node::Host(host) => {
                Some(self.parts.node_of[host as usize]).filter(|node| *node >= self.parts.switches)
            }
        }
    }

    /// Numbers links that are no host's only ones. Returns the speeds of the ports out and in and
    /// of these links, and the first link between each two nodes.
    #[allow(clippy::type_complexity, reason = "the parts of one network")]
    fn number_links(
        &mut self,
        end: Location<'_>,
    ) -> Result<([Vec<Speed>; 2], Vec<Speed>, HashMap<(u32, u32), u32>), TraceError> {
        let none = Speed { capacity: 0.0, latency_s: 0.0 };
        let mut ports = [vec![none; self.hosts.len()], vec![none; self.hosts.len()]];
        let (mut speeds, mut link_between) = (Vec::new(), HashMap::new());
        for Link { ends, speed, tier } in std::mem::take(&mut self.links) {
            let numbers = ends.map(|node| self.node_number(node));
            for (direction, node) in ends.into_iter().enumerate() {
                let Node::Host(host) = node else { continue };
                let port = &mut ports[direction][host as usize];
                match numbers[direction] {
                    None => *port = speed,
                    Some(_) => port.capacity += NO_LIMIT * speed.capacity,
                }
            }
            let [Some(from), Some(to)] = numbers else { continue };
            let number = self.parts.links.len();
            if number == MAX_LINKS {
                return Err(end.bad("link", format_args!("at most {MAX_LINKS} links"), "more"));
            }
            let usual = match ends {
                [Node::Switch(_), Node::Switch(_)] => INNER,
                [Node::Host(_), Node::Switch(_)] => HOST_UP,
                [Node::Switch(_), Node::Host(_)] => HOST_DOWN,
                [Node::Host(_), Node::Host(_)] => BETWEEN_HOSTS,
            };
            let tier = tier.map_or_else(|| self.tier(end, usual), Ok)?;
            link_between.entry((from, to)).or_insert(number as u32);
            self.parts.links.push((from, to));
            self.parts.tier_of.push(tier);
            self.parts.speeds.push(speed.capacity);
            speeds.push(speed);
        }
        Ok((ports, speeds, link_between))
    }

    /// The links of all routes.
    fn listed_routes(
        &mut self,
        end: Location<'_>,
        link_between: &HashMap<(u32, u32), u32>,
    ) -> Result<Vec<(PortId, PortId, Vec<u32>)>, TraceError> {
        const FIELD: &str = "route";
        let mut listed = BTreeMap::new();
        for Route { line, ends: [src, dst], nodes } in std::mem::take(&mut self.routes) {
            let at = Location { line, ..end };
            // From node to node, with hosts that are nodes.
            let mut all = nodes;
            for (host, found, is_first) in
                [(src, all.first().copied(), true), (dst, all.last().copied(), false)]
            {
                let node = Node::Host(host);
                match self.node_number(node) {
                    Some(_) if is_first => all.insert(0, node),
                    Some(_) => all.push(node),
                    None => {
                        let switch = Node::Switch(self.parts.node_of[host as usize]);
                        // An end that was put there is no switch of this host.
                        if found != Some(switch) {
                            let expected =
                                format_args!("the switch of host {} at its end", self.host(host));
                            let found = found.map_or("nothing".to_owned(), |node| self.name(node));
                            return Err(at.bad(FIELD, expected, found));
                        }
                    }
                }
            }
            let mut links = Vec::new();
            for pair in all.windows(2) {
                let found = || format!("{} to {}", self.name(pair[0]), self.name(pair[1]));
                let ends = self.node_number(pair[0]).zip(self.node_number(pair[1]));
                let Some(&link) = ends.and_then(|ends| link_between.get(&ends)) else {
                    return Err(at.bad(FIELD, "links that exist", found()));
                };
                if links.contains(&link) {
                    return Err(at.bad(FIELD, "each link once", format_args!("{} twice", found())));
                }
                links.push(link);
            }
            if listed.insert((src, dst), links).is_some() {
                let found =
                    format_args!("a second one from {} to {}", self.host(src), self.host(dst));
                return Err(at.bad(FIELD, "one route for each pair of hosts", found));
            }
        }
        Ok(listed
            .into_iter()
            .map(|((src, dst), links)| (PortId(src), PortId(dst), links))
            .collect())
    }
}

/// The network of a topology file.
#[derive(Debug)]
pub struct FileTopology {
    parts: GraphParts,
    routes: Routes,
    ecmp: EcmpMode,
    /// Of the links out of hosts and into hosts.
    host_speeds: [Vec<Speed>; 2],
    /// Of inner links.
    speeds: Vec<Speed>,
    /// The line that names each host.
    lines: Vec<u64>,
}

impl FileTopology {
    /// How switches choose, unless the user says so.
    pub fn ecmp(&self) -> EcmpMode {
        self.ecmp
    }

    /// The network; `name` is the file in messages.
    ///
    /// # Errors
    /// [`TraceError::Bad`] if a host has no path to another, or the network is too large.
    pub fn fabric(self, name: &str, ecmp: Ecmp) -> Result<Fabric, TraceError> {
        let start = Location { name, line: 1 };
        let hosts = self.parts.hosts.clone();
        let lines = self.lines;
        let explained = |error: FabricError| match error {
            FabricError::NoPath { src, dst } => {
                let [src_name, dst_name] = [src, dst].map(|host| quote(&hosts[host as usize]));
                let at = Location { line: lines[src as usize], ..start };
                let expected = "a path to every host";
                at.bad(
                    format_args!("host {src_name}"),
                    expected,
                    format_args!("none to {dst_name}"),
                )
            }
            error => start.bad("topology", "a valid network", error),
        };
        let capacities =
            |speeds: &[Speed]| -> Vec<f64> { speeds.iter().map(|s| s.capacity).collect() };
        let [up, down] = &self.host_speeds;
        let all = up.iter().chain(down).chain(&self.speeds);
        let latencies: Vec<f64> = all.map(|speed| speed.latency_s).collect();
        let graph = Graph::new(self.parts, self.routes, ecmp).map_err(&explained)?;
        let inner = capacities(&self.speeds);
        let fabric = Fabric::new(&capacities(up), &capacities(down), &inner, graph);
        let fabric = fabric.map_err(&explained)?;
        if latencies.iter().all(|seconds| *seconds == 0.0) {
            return Ok(fabric);
        }
        fabric.with_latencies(latencies).map_err(&explained)
    }
}
