//! What a token may have at most.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// What a token may have at most. Nothing is limited where there is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Coflows that are present.
    pub coflows: Option<usize>,
    /// Flows of coflows that are present.
    pub flows: Option<usize>,
    /// Coflows that are remembered after they have gone: those that went first are forgotten first.
    pub gone: Option<usize>,
    /// Idempotency keys that are remembered: those of coflows that have gone are forgotten first.
    pub keys: Option<usize>,
    /// Requests a second.
    pub requests: Option<u32>,
    /// The ports that flows may have as their ends.
    pub ports: Option<Ports>,
}

/// Ports, as in `0-9,12`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u32>>);

/// A text is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    /// There is no limit of this name.
    #[error(
        "expected one of coflows=N, flows=N, gone=N, keys=N, requests=N (a second), ports=0-9,12; found '{0}'"
    )]
    Name(String),
    /// The value is no number.
    #[error("{0}: expected a whole number, or none, found '{1}'")]
    Number(&'static str, String),
    /// The value is no list of ports.
    #[error("ports: expected ports like 0-9,12, or none, found '{0}'")]
    Ports(String),
}

impl Limits {
    /// Sets one of them, as in `coflows=10`; `coflows=none` takes it away.
    ///
    /// # Errors
    /// When the text is no limit.
    pub fn set(&mut self, text: &str) -> Result<(), LimitError> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        match name {
            "coflows" => self.coflows = number("coflows", value)?,
            "flows" => self.flows = number("flows", value)?,
            "gone" => self.gone = number("gone", value)?,
            "keys" => self.keys = number("keys", value)?,
            // Nobody could ask for anything otherwise.
            "requests" if value == "0" => {
                return Err(LimitError::Number("requests", value.to_owned()));
            }
            "requests" => self.requests = number("requests", value)?,
            "ports" if value == "none" => self.ports = None,
            "ports" => self.ports = Some(value.parse()?),
            _ => return Err(LimitError::Name(text.to_owned())),
        }
        Ok(())
    }
}

fn number<T: FromStr>(name: &'static str, value: &str) -> Result<Option<T>, LimitError> {
    match value {
        "none" => Ok(None),
        _ => value.parse().map(Some).map_err(|_| LimitError::Number(name, value.to_owned())),
    }
}

impl Display for Limits {
    /// Writes those that there are, as [`Limits::set`] reads them, with a space between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { coflows, flows, gone, keys, requests, ports } = self;
        let count = |count: &Option<usize>| count.map(|count| count.to_string());
        let values = [
            ("coflows", count(coflows)),
            ("flows", count(flows)),
            ("gone", count(gone)),
            ("keys", count(keys)),
            ("requests", requests.map(|requests| requests.to_string())),
            ("ports", ports.as_ref().map(Ports::to_string)),
        ];
        let there = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let texts: Vec<String> = there.map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&texts.join(" "))
    }
}

impl Ports {
    /// Whether a port is among them.
    pub fn contains(&self, port: u32) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }
}

impl FromStr for Ports {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Ports, LimitError> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(first..=last)
        };
        let ranges = text.split(',').map(range).collect::<Option<_>>();
        ranges.map(Ports).ok_or_else(|| LimitError::Ports(text.to_owned()))
    }
}

impl Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |range: &RangeInclusive<u32>| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        f.write_str(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        let text = "coflows=10 flows=200 gone=0 keys=7 requests=50 ports=0-9,12";
        let mut limits = Limits::default();
        text.split(' ').for_each(|one| limits.set(one).expect(one));
        assert_eq!(limits.to_string(), text);
        let ports = limits.ports.clone().expect("ports");
        assert_eq!([0, 9, 10, 12].map(|port| ports.contains(port)), [true, true, false, true]);
        limits.set("coflows=none").expect("a limit");
        limits.set("ports=none").expect("a limit");
        assert_eq!((limits.coflows, limits.ports), (None, None));
        for (text, problem) in [
            ("coflow=1", "expected one of coflows=N, "),
            ("flows", "flows: expected a whole number, or none, found ''"),
            ("keys=-1", "keys: expected a whole number, or none, found '-1'"),
            ("requests=0", "requests: expected a whole number, or none, found '0'"),
            ("ports=9-0", "ports: expected ports like 0-9,12, or none, found '9-0'"),
            ("ports=1,", "ports: "),
        ] {
            let error = Limits::default().set(text).expect_err(text).to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
