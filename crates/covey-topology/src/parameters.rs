//! The parameters of a network: `key=value,…`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use covey_core::suggest::{did_you_mean, nearest};
use covey_core::{Ecmp, EcmpMode, units};
use covey_trace::text::quote;

use crate::{Place, TopologyError};

/// The seed of hashes unless a text gives one.
const SEED: u64 = 1;

/// The parameters that a text gives, each at most once.
pub(crate) struct Parameters<'a> {
    /// The kind of network, for messages.
    pub kind: &'static str,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// The parameters in `text`, all of them `known` ones of this kind of network.
    pub fn parse(
        kind: &'static str,
        text: &'a str,
        known: &[&str],
    ) -> Result<Parameters<'a>, TopologyError> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        for item in text.split(',').filter(|_| !text.is_empty()).map(str::trim) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let (key, value) = (key.trim(), value.trim());
            if !known.contains(&key) {
                let expected = format!("one of {}", known.join(", "));
                let meant = did_you_mean(nearest(key, known.iter().copied()));
                return Err(TopologyError::expected(kind, expected, quote(key) + &meant));
            }
            if given.iter().any(|(other, _)| *other == key) {
                let found = format!("{} twice", quote(key));
                return Err(TopologyError::expected(kind, "each parameter once", found));
            }
            given.push((key, value));
        }
        Ok(Parameters { kind, given })
    }

    /// The text of a parameter, if it is given.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.given.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
    }

    /// All parameters in their order, as `key=value,…`.
    pub fn canonical(&self) -> String {
        let items = self.given.iter().map(|(key, value)| format!("{key}={value}"));
        items.collect::<Vec<_>>().join(",")
    }

    /// A number in `range`, if it is given.
    pub fn number<T: FromStr + PartialOrd + Display>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, TopologyError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse() {
            Ok(value) if range.contains(&value) => Ok(Some(value)),
            _ => {
                let expected = format!("a number from {} to {}", range.start(), range.end());
                Err(self.bad(key, expected, quote(text)))
            }
        }
    }

    /// A number that must be given.
    pub fn count(&self, key: &str) -> Result<u32, TopologyError> {
        let missing = || self.bad(key, "a number", "nothing");
        self.number(key, 0..=u32::MAX)?.ok_or_else(missing)
    }

    /// A speed in bytes per second, if it is given.
    pub fn rate(&self, key: &str) -> Result<Option<f64>, TopologyError> {
        let parsed = self.text(key).map(units::parse_rate).transpose();
        parsed.map_err(|problem| self.problem(key, problem))
    }

    /// The latency of every link in seconds.
    pub fn latency(&self) -> Result<f64, TopologyError> {
        let parsed = self.text("latency").map(units::parse_duration).transpose();
        Ok(parsed.map_err(|problem| self.problem("latency", problem))?.unwrap_or(0.0))
    }

    /// How switches choose; `mode` unless the text says so.
    pub fn ecmp(&self, mode: EcmpMode) -> Result<Ecmp, TopologyError> {
        let seed = self.number("seed", 0..=u64::MAX)?.unwrap_or(SEED);
        let mode = self.one_of("ecmp", &EcmpMode::ALL)?.unwrap_or(mode);
        Ok(Ecmp { mode, seed })
    }

    /// How ports become hosts; `default` unless the text says so.
    pub fn place(&self, default: Place) -> Result<Place, TopologyError> {
        Ok(self.one_of("place", &Place::ALL)?.unwrap_or(default))
    }

    /// One of several names, if it is given.
    fn one_of<T: Copy>(
        &self,
        key: &str,
        names: &[(&'static str, T)],
    ) -> Result<Option<T>, TopologyError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let known = || names.iter().map(|(name, _)| *name);
                let expected = format!("one of {}", known().collect::<Vec<_>>().join(", "));
                let meant = did_you_mean(nearest(text, known()));
                Err(self.bad(key, expected, quote(text) + &meant))
            }
        }
    }

    fn bad(&self, key: &str, expected: impl Display, found: impl Display) -> TopologyError {
        TopologyError::expected(&format!("{}: {key}", self.kind), expected, found)
    }

    /// The error for a parameter with this problem.
    pub fn problem(&self, key: &str, problem: impl Display) -> TopologyError {
        TopologyError::Spec(format!("{}: {key}: {problem}", self.kind))
    }
}
