//! The `.topo` files of htsim: a tree of two or three tiers, described by numbers.
//!
//! A header gives the numbers of hosts (`Nodes`), of tiers, and of hosts in a pod (`Podsize`). A
//! section for each tier of switches, from 0 at the hosts, gives the number of links down and up of
//! a switch (`Radix_Down`, `Radix_Up`), the speed and the latency of the links down
//! (`Downlink_speed_Gbps`, `Downlink_Latency_ns`), the latency of a switch (`Switch_Latency_ns`),
//! and how many links down lead to the same switch (`Bundle`). The numbers of switches follow.
//! `Oversubscribed` repeats what they say and is checked. Sizes of queues do not matter here. The
//! case of keys does not matter.
//!
//! A switch of tier 0 has links to all switches of tier 1 in its pod. The links up of the `a`-th
//! switch of tier 1 in each pod lead to the same switches of tier 2, in the order of their numbers.

use covey_core::suggest::{did_you_mean, nearest};
use covey_trace::TraceError;
use covey_trace::text::{Location, quote};

use super::draft::{Draft, FileTopology, MAX_HOSTS, MAX_LINKS, Node, Speed};
use super::{TextLines, words};

/// The keys before the first tier.
const HEADER_KEYS: [&str; 3] = ["nodes", "tiers", "podsize"];
/// The keys of a tier.
const TIER_KEYS: [&str; 7] = [
    "downlink_speed_gbps",
    "radix_up",
    "radix_down",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
];
/// Names of switches and of the links above them, by tier.
const NAMES: [&str; 3] = ["edge", "agg", "core"];
/// Names of the tiers of links: up to and down from switches of tier 1, then of tier 2.
const LINKS: [[&str; 2]; 2] = [["edge up", "edge down"], ["agg up", "agg down"]];

/// Whether a file that begins with this word has this form.
pub(super) fn is_header(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    HEADER_KEYS.contains(&word.as_str()) || word == "tier"
}

/// A value with the line that gives it.
type Given = Option<(u64, f64)>;

/// What a file says.
#[derive(Debug, Default)]
struct Description {
    header: [Given; HEADER_KEYS.len()],
    tiers: [[Given; TIER_KEYS.len()]; 3],
    /// The line that begins each tier.
    begins: [Option<u64>; 3],
}

/// Reads a file from its first line that is not blank.
pub(super) fn read(
    first: (Location<'_>, String),
    mut lines: TextLines<'_>,
) -> Result<FileTopology, TraceError> {
    let mut description = Description::default();
    let mut tier = None;
    description.take(first.0, &words(&first.1), &mut tier)?;
    while let Some((at, line)) = lines.next()? {
        description.take(at, &words(line), &mut tier)?;
    }
    Tree::new(&description, lines.location())?.build(lines.location())
}

impl Description {
    /// Takes the words of one line. `tier` is the one whose section has begun.
    fn take(
        &mut self,
        at: Location<'_>,
        words: &[&str],
        tier: &mut Option<usize>,
    ) -> Result<(), TraceError> {
        let [key, value] = match words {
            [] => return Ok(()),
            [key, value] => [*key, *value],
            [key, ..] => return Err(at.bad(key, "one number", "another number of words")),
        };
        let lower_case = key.to_ascii_lowercase();
        if lower_case == "tier" {
            let number = number(at, key, value)?;
            let count = self.header[1].map_or(3.0, |(_, tiers)| tiers);
            let Some(next) = (0..3).find(|n| *n as f64 == number && number < count) else {
                let expected = format_args!("a number from 0 to {}", count - 1.0);
                return Err(at.bad(key, expected, quote(value)));
            };
            if self.begins[next].replace(at.line).is_some() {
                return Err(at.bad(key, "each tier once", format_args!("{next} twice")));
            }
            *tier = Some(next);
            return Ok(());
        }
        if lower_case == "connections" {
            let found = "a connection matrix (.cm), which is a trace and no topology";
            return Err(at.bad("key", "a topology (.topo)", found));
        }
        if lower_case.starts_with("queue") {
            return Ok(());
        }
        let (known, given): (&[&str], &mut [Given]) = match *tier {
            None => (&HEADER_KEYS, &mut self.header),
            Some(tier) => (&TIER_KEYS, &mut self.tiers[tier]),
        };
        let Some(n) = known.iter().position(|other| *other == lower_case) else {
            let expected = format_args!("one of {}", known.join(", "));
            let meant = did_you_mean(nearest(key, known.iter().copied()));
            return Err(at.bad("key", expected, quote(key) + &meant));
        };
        if given[n].replace((at.line, number(at, key, value)?)).is_some() {
            return Err(at.bad(key, "each key once", "a second one"));
        }
        Ok(())
    }

    /// A value that the file must give: of the header, or of a tier.
    fn value(&self, end: Location<'_>, tier: Option<usize>, key: &str) -> Result<f64, TraceError> {
        let (given, line, what) = match tier {
            None => {
                let n = HEADER_KEYS.iter().position(|other| *other == key);
                (n.and_then(|n| self.header[n]), None, String::new())
            }
            Some(t) => (self.optional(t, key), self.begins[t], format!("tier {t}: ")),
        };
        let at = Location { line: line.unwrap_or(end.line), ..end };
        let missing = || at.bad(format_args!("{what}{key}"), "a number", "nothing");
        given.map(|(_, value)| value).ok_or_else(missing)
    }

    fn optional(&self, tier: usize, key: &str) -> Given {
        TIER_KEYS.iter().position(|other| *other == key).and_then(|n| self.tiers[tier][n])
    }

    /// A whole number from 1 on that the file must give.
    fn count(
        &self,
        end: Location<'_>,
        tier: Option<usize>,
        key: &str,
    ) -> Result<usize, TraceError> {
        let value = self.value(end, tier, key)?;
        if value >= 1.0 && value <= MAX_LINKS as f64 && value.fract() == 0.0 {
            return Ok(value as usize);
        }
        let at = Location { line: self.line(tier, key).unwrap_or(end.line), ..end };
        Err(at.bad(key, format_args!("a whole number from 1 to {MAX_LINKS}"), value))
    }

    fn line(&self, tier: Option<usize>, key: &str) -> Option<u64> {
        match tier {
            None => HEADER_KEYS.iter().position(|k| *k == key).and_then(|n| self.header[n]),
            Some(tier) => self.optional(tier, key),
        }
        .map(|(line, _)| line)
    }
}

/// The number that `text` is.
fn number(at: Location<'_>, key: &str, text: &str) -> Result<f64, TraceError> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e12).contains(&value) => Ok(value + 0.0),
        _ => Err(at.bad(key, "a number from 0 to 1e12", quote(text))),
    }
}

/// The numbers of the tree.
#[derive(Debug)]
struct Tree {
    hosts: usize,
    pods: usize,
    /// Hosts of a switch of tier 0.
    hosts_of_edge: usize,
    /// Switches of tiers 0 and 1 in a pod.
    edges: usize,
    aggs: usize,
    /// Switches of tier 2 to which a switch of tier 1 is connected.
    cores_of_agg: usize,
    /// Links between the same two switches, below tiers 1 and 2.
    bundles: [usize; 2],
    /// Of the links down from each tier, and up to it.
    down: Vec<Speed>,
    up: Vec<Speed>,
}

impl Tree {
    fn new(from: &Description, end: Location<'_>) -> Result<Tree, TraceError> {
        let count = |tier, key| from.count(end, tier, key);
        let (hosts, podsize) = (count(None, "nodes")?, count(None, "podsize")?);
        let tiers = count(None, "tiers")?;
        let bad = |tier: Option<usize>, key: &str, expected: String, found: usize| {
            let line = from.line(tier, key).or(tier.and_then(|t| from.begins[t]));
            let at = Location { line: line.unwrap_or(end.line), ..end };
            let field = tier.map_or(key.to_owned(), |tier| format!("tier {tier}: {key}"));
            at.bad(field, expected, found)
        };
        if !(2..=3).contains(&tiers) {
            return Err(bad(None, "tiers", "2 or 3".to_owned(), tiers));
        }
        if hosts > MAX_HOSTS {
            return Err(bad(None, "nodes", format!("at most {MAX_HOSTS}"), hosts));
        }
        if hosts % podsize != 0 || (tiers == 2 && hosts != podsize) {
            let expected = if tiers == 2 { "Nodes, with two tiers" } else { "a divisor of Nodes" };
            return Err(bad(None, "podsize", expected.to_owned(), podsize));
        }
        let pods = hosts / podsize;
        let hosts_of_edge = count(Some(0), "radix_down")?;
        if podsize % hosts_of_edge != 0 {
            let expected = format!("a divisor of Podsize, {podsize}");
            return Err(bad(Some(0), "radix_down", expected, hosts_of_edge));
        }
        let edges = podsize / hosts_of_edge;
        let bundle = |tier: usize| match from.optional(tier, "bundle") {
            Some(_) => count(Some(tier), "bundle"),
            None => Ok(1),
        };
        if bundle(0)? != 1 {
            return Err(bad(Some(0), "bundle", "1: a host has one link".to_owned(), bundle(0)?));
        }
        // Switches below each switch, and distinct switches above it.
        let mut bundles = [1; 2];
        let mut above = [1; 2];
        for (tier, below) in [(1, edges), (2, pods)].into_iter().take(tiers - 1) {
            let (bundle, radix) = (bundle(tier)?, count(Some(tier), "radix_down")?);
            if below.checked_mul(bundle) != Some(radix) {
                let expected = format!("{below} switches below it times Bundle {bundle}");
                return Err(bad(Some(tier), "radix_down", expected, radix));
            }
            let up = count(Some(tier - 1), "radix_up")?;
            if up % bundle != 0 {
                let expected = format!("a multiple of Bundle of tier {tier}, {bundle}");
                return Err(bad(Some(tier - 1), "radix_up", expected, up));
            }
            (bundles[tier - 1], above[tier - 1]) = (bundle, up / bundle);
        }
        let (mut down, mut up) = (Vec::new(), Vec::new());
        let (mut arrives, mut last_speed) = (0.0, 0.0);
        for tier in 0..tiers {
            let gbps = from.value(end, Some(tier), "downlink_speed_gbps")?;
            if gbps <= 0.0 || gbps > 1e6 {
                let line = from.line(Some(tier), "downlink_speed_gbps").unwrap_or(end.line);
                let at = Location { line, ..end };
                return Err(at.bad("Downlink_speed_Gbps", "more than 0, up to 1e6", gbps));
            }
            let optional = |key| from.optional(tier, key).map_or(0.0, |(_, value)| value);
            let (link, switch) = (optional("downlink_latency_ns"), optional("switch_latency_ns"));
            let speed = |ns: f64| Speed { capacity: gbps * 1e9 / 8.0, latency_s: ns * 1e-9 };
            // What a switch takes is counted with the link that leaves it.
            down.push(speed(link + switch));
            up.push(speed(link + arrives));
            if tier > 0
                && let Some((_, ratio)) = from.optional(tier - 1, "oversubscribed")
            {
                let links_up = count(Some(tier - 1), "radix_up")? as f64;
                let links_down = count(Some(tier - 1), "radix_down")? as f64;
                let given = ratio * links_up * gbps;
                if (given - links_down * last_speed).abs() > 1e-9 * given {
                    let expected = "the speed of all links down divided by that of all links up";
                    let line = from.line(Some(tier - 1), "oversubscribed").unwrap_or(end.line);
                    return Err(Location { line, ..end }.bad("Oversubscribed", expected, ratio));
                }
            }
            (arrives, last_speed) = (switch, gbps);
        }
        let [aggs, cores_of_agg] = above;
        let cores_of_agg = if tiers == 3 { cores_of_agg } else { 0 };
        let tree =
            Tree { hosts, pods, hosts_of_edge, edges, aggs, cores_of_agg, bundles, down, up };
        if tree.links().is_none_or(|links| links > MAX_LINKS) {
            return Err(end.bad("links", format_args!("at most {MAX_LINKS}"), "more"));
        }
        Ok(tree)
    }

    /// Number of links between switches, both directions.
    fn links(&self) -> Option<usize> {
        let of_edges = self.edges.checked_mul(self.aggs)?.checked_mul(self.bundles[0])?;
        let of_aggs = self.aggs.checked_mul(self.cores_of_agg)?.checked_mul(self.bundles[1])?;
        of_edges.checked_add(of_aggs)?.checked_mul(2)?.checked_mul(self.pods)
    }

    fn build(&self, end: Location<'_>) -> Result<FileTopology, TraceError> {
        let mut draft = Draft::default();
        let mut add = |what: &str, count: usize| -> Result<Vec<Node>, TraceError> {
            let is_host = what == "host";
            (0..count).map(|n| draft.add(end, &format!("{what}{n}"), is_host)).collect()
        };
        let hosts = add("host", self.hosts)?;
        let edges = add(NAMES[0], self.pods * self.edges)?;
        let aggs = add(NAMES[1], self.pods * self.aggs)?;
        let cores = add(NAMES[2], self.aggs * self.cores_of_agg)?;
        for (n, &host) in hosts.iter().enumerate() {
            let edge = edges[n / self.hosts_of_edge];
            draft.connect(end, [host, edge], self.up[0], None)?;
            draft.connect(end, [edge, host], self.down[0], None)?;
        }
        let mut connect = |tier: usize, below: Node, above: Node| -> Result<(), TraceError> {
            let [up, down] = LINKS[tier - 1];
            let [up, down] = [draft.tier(end, up)?, draft.tier(end, down)?];
            for _ in 0..self.bundles[tier - 1] {
                draft.connect(end, [below, above], self.up[tier], Some(up))?;
                draft.connect(end, [above, below], self.down[tier], Some(down))?;
            }
            Ok(())
        };
        for (n, &edge) in edges.iter().enumerate() {
            let pod = n / self.edges;
            let of_pod = &aggs[pod * self.aggs..(pod + 1) * self.aggs];
            of_pod.iter().try_for_each(|&agg| connect(1, edge, agg))?;
        }
        for (n, &agg) in aggs.iter().enumerate().filter(|_| self.cores_of_agg > 0) {
            let first = n % self.aggs * self.cores_of_agg;
            let above = &cores[first..first + self.cores_of_agg];
            above.iter().try_for_each(|&core| connect(2, agg, core))?;
        }
        draft.finish(end)
    }
}
