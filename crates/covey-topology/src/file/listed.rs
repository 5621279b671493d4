//! Covey's own form: nodes, links, and routes if wanted, a line each.

use covey_core::suggest::{did_you_mean, nearest};
use covey_core::{EcmpMode, units};
use covey_trace::TraceError;
use covey_trace::text::{Location, quote};

use super::draft::{Draft, FileTopology, Node, Speed};
use super::{TextLines, words};

/// The first words of lines.
const KINDS: [&str; 6] = ["ecmp", "default", "hosts", "switches", "link", "route"];
/// The valid speeds of links in bytes per second.
const CAPACITY: std::ops::RangeInclusive<f64> = 0.125..=1.25e14;

/// Reads the lines after the header. Links without a capacity carry `rate` bytes per second.
pub(super) fn read(mut lines: TextLines<'_>, rate: f64) -> Result<FileTopology, TraceError> {
    let mut draft = Draft::default();
    let mut default = Speed { capacity: rate, latency_s: 0.0 };
    while let Some((at, line)) = lines.next()? {
        match words(line).as_slice() {
            [] => {}
            ["ecmp", mode] => draft.ecmp = ecmp(at, mode)?,
            ["default", rest @ ..] => {
                let (speed, tier) = properties(at, rest, default)?;
                if let Some(tier) = tier {
                    return Err(at.bad("default", "a capacity or a latency", quote(tier)));
                }
                default = speed;
            }
            ["hosts", names @ ..] => add(&mut draft, at, names, true)?,
            ["switches", names @ ..] => add(&mut draft, at, names, false)?,
            ["link", from, arrow, to, rest @ ..] => {
                link(&mut draft, at, [*from, *arrow, *to], rest, default)?;
            }
            ["route", src, dst, rest @ ..] => route(&mut draft, at, [*src, *dst], rest)?,
            ["ecmp", ..] => return Err(at.bad("ecmp", "one word", "another number of words")),
            ["link", ..] => return Err(at.bad("link", "FROM -- TO or FROM -> TO", quote(line))),
            ["route", ..] => return Err(at.bad("route", "HOST HOST NODE…", quote(line))),
            [other, ..] => {
                let meant = did_you_mean(nearest(other, KINDS));
                let expected = format_args!("one of {}", KINDS.join(", "));
                return Err(at.bad("first word", expected, quote(other) + &meant));
            }
        }
    }
    draft.finish(lines.location())
}

fn ecmp(at: Location<'_>, text: &str) -> Result<EcmpMode, TraceError> {
    // A file cannot be sprayed.
    let known = || EcmpMode::ALL.into_iter().filter(|(_, mode)| *mode != EcmpMode::Spray);
    let names = || known().map(|(name, _)| name);
    let found = known().find(|(name, _)| *name == text).map(|(_, mode)| mode);
    found.ok_or_else(|| {
        let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
        at.bad("ecmp", expected, quote(text) + &did_you_mean(nearest(text, names())))
    })
}

fn add(
    draft: &mut Draft,
    at: Location<'_>,
    names: &[&str],
    is_host: bool,
) -> Result<(), TraceError> {
    names.iter().try_for_each(|name| draft.add(at, name, is_host).map(|_| ()))
}

fn link(
    draft: &mut Draft,
    at: Location<'_>,
    [from, arrow, to]: [&str; 3],
    rest: &[&str],
    default: Speed,
) -> Result<(), TraceError> {
    let ends = [draft.node(at, "from", from)?, draft.node(at, "to", to)?];
    let (speed, tier) = properties(at, rest, default)?;
    let tier = tier.map(|tier| draft.tier(at, tier)).transpose()?;
    draft.connect(at, ends, speed, tier)?;
    match arrow {
        "->" => Ok(()),
        "--" => draft.connect(at, [ends[1], ends[0]], speed, tier),
        _ => Err(at.bad("direction", "-- (both) or -> (one)", quote(arrow))),
    }
}

fn route(
    draft: &mut Draft,
    at: Location<'_>,
    ends: [&str; 2],
    rest: &[&str],
) -> Result<(), TraceError> {
    let mut hosts = [0; 2];
    for (host, name) in hosts.iter_mut().zip(ends) {
        match draft.node(at, "route", name)? {
            Node::Host(number) => *host = number,
            Node::Switch(_) => return Err(at.bad("route", "the name of a host", quote(name))),
        }
    }
    let nodes = rest.iter().map(|name| draft.node(at, "route", name));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    draft.route(at, hosts, nodes)
}

/// Reads `[CAPACITY] [latency=TIME] [tier=NAME]`; what is missing is as in `default`.
fn properties<'a>(
    at: Location<'_>,
    words: &[&'a str],
    default: Speed,
) -> Result<(Speed, Option<&'a str>), TraceError> {
    let (mut speed, mut tier) = (default, None);
    for (n, word) in words.iter().enumerate() {
        match word.split_once('=') {
            None if n == 0 => speed.capacity = capacity(at, word)?,
            Some(("latency", text)) => {
                let expected = "a time like 1us or 0";
                let parsed = units::parse_duration(text);
                speed.latency_s =
                    parsed.map_err(|e| at.bad("latency", expected, quote(text) + e.hint()))?;
            }
            Some(("tier", name)) => tier = Some(name),
            _ => {
                let expected = "CAPACITY, then latency=TIME or tier=NAME";
                return Err(at.bad("link", expected, quote(word)));
            }
        }
    }
    Ok((speed, tier))
}

fn capacity(at: Location<'_>, text: &str) -> Result<f64, TraceError> {
    let expected = "a speed like 10gbps, from 1bps to 1000tbps";
    match units::parse_rate(text) {
        Ok(rate) if CAPACITY.contains(&rate) => Ok(rate),
        Ok(_) => Err(at.bad("capacity", expected, quote(text))),
        Err(error) => Err(at.bad("capacity", expected, quote(text) + error.hint())),
    }
}
