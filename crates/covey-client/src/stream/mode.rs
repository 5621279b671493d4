//! Who decides which flow is sent first.

use std::str::FromStr;

use covey_core::suggest::{did_you_mean, nearest};
use thiserror::Error;

/// Who decides which flow is sent first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    /// A coordinator, by way of the agent on this host.
    #[default]
    Coordinator,
    /// Nobody alone: each receiver gives priorities to the coflows that come to it, and senders mark packets with
    /// them. The text has settings of the policy `stream`, `key=value,…`. All applications of a coflow need the same.
    Stream(String),
}

/// The names of the modes.
const COORDINATOR: &str = "coordinator";
const STREAM: &str = "stream";

/// A text that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("mode: expected coordinator, stream or stream:key=value,…, found '{found}'{}", did_you_mean(*.meant))]
pub struct ModeError {
    found: String,
    meant: Option<&'static str>,
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Mode, ModeError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        match name {
            COORDINATOR if settings.is_empty() => Ok(Mode::Coordinator),
            STREAM => Ok(Mode::Stream(settings.to_owned())),
            _ => {
                let meant = nearest(name, [COORDINATOR, STREAM]).filter(|meant| *meant != name);
                Err(ModeError { found: text.to_owned(), meant })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_and_others_refused_with_a_suggestion() {
        assert_eq!("coordinator".parse(), Ok(Mode::Coordinator));
        assert_eq!("stream:K=8".parse(), Ok(Mode::Stream("K=8".to_owned())));
        let error = "steam".parse::<Mode>().expect_err("no mode").to_string();
        assert!(error.contains("found 'steam'") && error.contains("'stream'"), "{error}");
        assert!("coordinator:K=8".parse::<Mode>().is_err());
    }
}
