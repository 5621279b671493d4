//! Generated workloads, with names in place of a trace file: `builtin:NAME[:key=value,…]`.

mod coflowsim;
mod fb_like;
mod kinds;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use covey_core::suggest::{did_you_mean, nearest};

use crate::error::{TraceError, quote};
use crate::workload::Workload;
use coflowsim::{Custom, WIDEST};
use fb_like::FbLike;

/// Makes the workload `NAME[:key=value,…]`, the text after `builtin:` in the name of a trace.
///
/// Case does not matter in the name.
///
/// `fb-like` is a random hour with the published shape of the public Facebook trace: the number
/// of coflows in each bin of Aalo's Table 3 and Philae's Table 4, widths and sizes, times between
/// arrivals, and the load of ports. The same parameters give the same workload on every platform
/// and in every release. Its parameters:
///
/// | key | default | |
/// |---|---|---|
/// | `seed` | 1 | any integer from 0 |
/// | `coflows` | 526 | number of coflows, from 1 to 20,000 |
/// | `ports` | 150 | number of ports, from 1 to 1,000; widths stay, up to the number of ports |
/// | `duration_s` | 3630 | the last arrival in seconds, from 0 to 1e9 |
///
/// `coflowsim-custom` is the workload that CoflowSim makes without a trace, with Java's random
/// numbers: jobs of four classes, all at time 0. Its parameters:
///
/// | key | default | |
/// |---|---|---|
/// | `seed` | 13 | any integer from 0 |
/// | `jobs` | 10 | jobs asked for, up to 10,000; classes get 41, 29, 9 and 21 % each rounded down, so 10 make 8 coflows |
/// | `ports` | 100 | number of ports, from 100 to 1,000 |
///
/// # Errors
/// [`TraceError::Argument`] for an unknown name or key, with a list of the known ones, and for a
/// value out of range.
pub fn builtin(spec: &str) -> Result<Workload, TraceError> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    match name.trim().to_ascii_lowercase().as_str() {
        FB_LIKE => fb_like(parameters),
        COFLOWSIM_CUSTOM => coflowsim_custom(parameters),
        _ => Err(unknown("builtin", &NAMES, name)),
    }
}

/// The builtin workload, with `builtin:`, that a user may mean by `trace`, which lacks it.
pub(crate) fn suggestion(trace: &str) -> Option<String> {
    let (name, parameters) = trace.split_once(':').map_or((trace, None), |(n, p)| (n, Some(p)));
    let builtin = nearest(name, NAMES)?;
    let parameters = parameters.map_or_else(String::new, |text| format!(":{text}"));
    Some(format!("builtin:{builtin}{parameters}"))
}

const FB_LIKE: &str = "fb-like";
const COFLOWSIM_CUSTOM: &str = "coflowsim-custom";
/// The names of all builtin workloads.
const NAMES: [&str; 2] = [FB_LIKE, COFLOWSIM_CUSTOM];

/// Reads the parameters of `coflowsim-custom` and makes the workload.
fn coflowsim_custom(parameters: &str) -> Result<Workload, TraceError> {
    let mut custom = Custom { seed: 13, jobs: 10, ports: 100 };
    for (key, text) in pairs(parameters) {
        match key {
            "seed" => custom.seed = value("builtin:coflowsim-custom: seed", text, 0..=u64::MAX)?,
            "jobs" => custom.jobs = value("builtin:coflowsim-custom: jobs", text, 1..=10_000)?,
            "ports" => {
                let range = WIDEST..=1_000;
                custom.ports = value("builtin:coflowsim-custom: ports", text, range)?;
            }
            _ => return Err(unknown("builtin:coflowsim-custom", &["seed", "jobs", "ports"], key)),
        }
    }
    Ok(custom.generate())
}

/// Reads the parameters of `fb-like` and makes the workload.
fn fb_like(parameters: &str) -> Result<Workload, TraceError> {
    let mut hour = FbLike { seed: 1, coflows: 526, ports: 150, duration_s: 3630.0 };
    for (key, text) in pairs(parameters) {
        match key {
            "seed" => hour.seed = value("builtin:fb-like: seed", text, 0..=u64::MAX)?,
            "coflows" => hour.coflows = value("builtin:fb-like: coflows", text, 1..=20_000)?,
            "ports" => hour.ports = value("builtin:fb-like: ports", text, 1..=1_000)?,
            "duration_s" => {
                hour.duration_s = value("builtin:fb-like: duration_s", text, 0.0..=1e9)?;
            }
            _ => {
                let known = ["seed", "coflows", "ports", "duration_s"];
                return Err(unknown("builtin:fb-like", &known, key));
            }
        }
    }
    Ok(hour.generate())
}

/// The keys and values of `key=value,…`.
fn pairs(parameters: &str) -> impl Iterator<Item = (&str, &str)> {
    let items = parameters.split(',').map(str::trim).filter(|_| !parameters.is_empty());
    items.map(|item| item.split_once('=').unwrap_or((item, "")))
}

/// `text` as a number in `range`.
fn value<T: FromStr + PartialOrd + Display>(
    argument: &str,
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, TraceError> {
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            Err(bad(argument, &expected, quote(text)))
        }
    }
}

/// The error for a name that is none of `known`.
fn unknown(argument: &str, known: &[&str], found: &str) -> TraceError {
    let expected = format!("one of {}", known.join(", "));
    let meant = did_you_mean(nearest(found, known.iter().copied()));
    bad(argument, &expected, quote(found) + &meant)
}

fn bad(argument: &str, expected: &str, found: String) -> TraceError {
    TraceError::Argument { argument: argument.to_owned(), expected: expected.to_owned(), found }
}
