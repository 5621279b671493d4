//! A network that is being read.

use std::collections::HashMap;

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

/// A host or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// One direction of the connection between a host and its switch.
#[derive(Debug, Clone, Copy)]
struct HostLink {
    switch: u32,
    speed: Speed,
}

/// The links of one host as far as they are read.
#[derive(Debug, Clone, Copy)]
struct HostLinks {
    /// The line that names the host.
    line: u64,
    up: Option<HostLink>,
    down: Option<HostLink>,
}

/// A network that is being read: nodes, then links between them, then routes over these links.
#[derive(Debug, Default)]
pub(super) struct Draft {
    parts: GraphParts,
    nodes: HashMap<String, Node>,
    host_links: Vec<HostLinks>,
    speeds: Vec<Speed>,
    /// The first link from a switch to another.
    link_between: HashMap<(u32, u32), u32>,
    routes: HashMap<(u32, u32), Vec<u32>>,
    route_links: usize,
    pub ecmp: EcmpMode,
}

impl Draft {
    /// Adds a host or a switch.
    pub fn add(&mut self, at: Location<'_>, name: &str, is_host: bool) -> Result<Node, TraceError> {
        let (field, count, max) = match is_host {
            true => ("hosts", self.parts.hosts.len(), MAX_HOSTS),
            false => ("switches", self.parts.switches.len(), Graph::MAX_SWITCHES),
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
            self.host_links.push(HostLinks { line: at.line, up: None, down: None });
        } else {
            self.parts.switches.push(name.to_owned());
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

    /// Adds one direction of a link. Links of hosts are in no tier of the file.
    pub fn connect(
        &mut self,
        at: Location<'_>,
        [from, to]: [Node; 2],
        speed: Speed,
        tier: u16,
    ) -> Result<(), TraceError> {
        match (from, to) {
            (Node::Host(host), Node::Switch(switch)) => {
                let up = &mut self.host_links[host as usize].up;
                if up.replace(HostLink { switch, speed }).is_some() {
                    return Err(self.second(at, host, "out of"));
                }
            }
            (Node::Switch(switch), Node::Host(host)) => {
                let down = &mut self.host_links[host as usize].down;
                if down.replace(HostLink { switch, speed }).is_some() {
                    return Err(self.second(at, host, "into"));
                }
            }
            (Node::Switch(from), Node::Switch(to)) if from != to => {
                if self.parts.links.len() == MAX_LINKS {
                    return Err(at.bad("link", format_args!("at most {MAX_LINKS} links"), "more"));
                }
                self.link_between.entry((from, to)).or_insert(self.parts.links.len() as u32);
                self.parts.links.push((from, to));
                self.parts.tier_of.push(tier);
                self.speeds.push(speed);
            }
            (Node::Switch(_), Node::Switch(_)) => {
                return Err(at.bad("link", "two different switches", "one switch twice"));
            }
            (Node::Host(_), Node::Host(_)) => {
                return Err(at.bad("link", "a switch at one end", "two hosts"));
            }
        }
        Ok(())
    }

    fn second(&self, at: Location<'_>, host: u32, way: &str) -> TraceError {
        let expected = format_args!("one link {way} host {}", self.host(host));
        at.bad("link", expected, "a second one")
    }

    fn host(&self, host: u32) -> String {
        quote(&self.parts.hosts[host as usize])
    }

    /// Adds the route from a host to another over these switches.
    pub fn route(
        &mut self,
        at: Location<'_>,
        [src, dst]: [u32; 2],
        switches: &[u32],
    ) -> Result<(), TraceError> {
        const FIELD: &str = "route";
        let ends = [self.host_links[src as usize].up, self.host_links[dst as usize].down];
        let [first, last] = [switches.first(), switches.last()];
        for (end, found, host) in [(ends[0], first, src), (ends[1], last, dst)] {
            if end.map(|link| link.switch) != found.copied() || end.is_none() {
                let expected = format_args!("the switch of host {} at its end", self.host(host));
                let found = found.map_or("nothing".to_owned(), |s| self.switch(*s));
                return Err(at.bad(FIELD, expected, found));
            }
        }
        let mut links = Vec::new();
        for pair in switches.windows(2) {
            let found = || format!("{} to {}", self.switch(pair[0]), self.switch(pair[1]));
            let Some(&link) = self.link_between.get(&(pair[0], pair[1])) else {
                return Err(at.bad(FIELD, "links that exist", found()));
            };
            if links.contains(&link) {
                return Err(at.bad(FIELD, "each link once", format_args!("{} twice", found())));
            }
            links.push(link);
        }
        // An empty route counts, too.
        self.route_links += links.len().max(1);
        if self.route_links > MAX_ROUTE_LINKS {
            let expected = format_args!("at most {MAX_ROUTE_LINKS} links of all routes together");
            return Err(at.bad(FIELD, expected, "more"));
        }
        if self.routes.insert((src, dst), links).is_some() {
            let expected = "one route for each pair of hosts";
            let found = format_args!("a second one from {} to {}", self.host(src), self.host(dst));
            return Err(at.bad(FIELD, expected, found));
        }
        Ok(())
    }

    fn switch(&self, switch: u32) -> String {
        quote(&self.parts.switches[switch as usize])
    }

    /// The whole network. `end` is the end of the file.
    pub fn finish(mut self, end: Location<'_>) -> Result<FileTopology, TraceError> {
        if self.parts.hosts.is_empty() {
            return Err(end.bad("hosts", "at least one", "none"));
        }
        let mut host_speeds = [Vec::new(), Vec::new()];
        for (host, links) in (0..).zip(&self.host_links) {
            let at = Location { line: links.line, ..end };
            let field = || format!("host {}", self.host(host));
            let (Some(up), Some(down)) = (links.up, links.down) else {
                let found =
                    if links.up.is_some() { "one in one direction" } else { "none out of it" };
                return Err(at.bad(field(), "a link to a switch and one back", found));
            };
            if up.switch != down.switch {
                let found = [up, down].map(|link| self.switch(link.switch)).join(" and ");
                return Err(at.bad(field(), "links to and from the same switch", found));
            }
            host_speeds[0].push(up.speed);
            host_speeds[1].push(down.speed);
            self.parts.switch_of.push(up.switch);
        }
        let lines = self.host_links.iter().map(|links| links.line).collect();
        let inner = u32::try_from(self.parts.links.len()).unwrap_or(u32::MAX);
        let mut routes: Vec<_> = self.routes.into_iter().collect();
        routes.sort_unstable();
        let listed = routes.into_iter().map(|((src, dst), path)| (PortId(src), PortId(dst), path));
        let routes = Routes::new(inner, listed)
            .map_err(|error| end.bad("route", "links that exist, each once", error))?;
        Ok(FileTopology {
            parts: self.parts,
            routes,
            ecmp: self.ecmp,
            host_speeds,
            speeds: self.speeds,
            lines,
        })
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
