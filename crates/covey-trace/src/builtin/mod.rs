//! Workloads made on the spot, named as a trace file would be: `builtin:NAME[:key=value,…]`.

mod fb_like;
mod kinds;
mod random;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::error::{TraceError, quote};
use crate::workload::Workload;
use fb_like::FbLike;

/// Makes the workload `NAME[:key=value,…]`, what follows `builtin:` in the name of a trace.
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
/// # Errors
/// [`TraceError::Argument`] for a name or key that does not exist, naming those that do, and for a
/// value out of range.
pub fn builtin(spec: &str) -> Result<Workload, TraceError> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    match name {
        "fb-like" => fb_like(parameters),
        _ => Err(bad("builtin", "one of fb-like", quote(name))),
    }
}

/// Reads the parameters of `fb-like` and makes the workload.
fn fb_like(parameters: &str) -> Result<Workload, TraceError> {
    let mut hour = FbLike { seed: 1, coflows: 526, ports: 150, duration_s: 3630.0 };
    for item in parameters.split(',').filter(|item| !item.is_empty()) {
        let (key, text) = item.split_once('=').unwrap_or((item, ""));
        match key {
            "seed" => hour.seed = value("builtin:fb-like: seed", text, 0..=u64::MAX)?,
            "coflows" => hour.coflows = value("builtin:fb-like: coflows", text, 1..=20_000)?,
            "ports" => hour.ports = value("builtin:fb-like: ports", text, 1..=1_000)?,
            "duration_s" => {
                hour.duration_s = value("builtin:fb-like: duration_s", text, 0.0..=1e9)?;
            }
            _ => {
                let expected = "one of seed, coflows, ports, duration_s";
                return Err(bad("builtin:fb-like", expected, quote(key)));
            }
        }
    }
    Ok(hour.generate())
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

fn bad(argument: &str, expected: &str, found: String) -> TraceError {
    TraceError::Argument { argument: argument.to_owned(), expected: expected.to_owned(), found }
}
