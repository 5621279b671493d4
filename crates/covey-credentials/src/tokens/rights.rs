//! What the holder of a token may do.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;

use thiserror::Error;

/// Something that the holder of a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Ask for coflows, schedules, agents, events and metrics.
    Read,
    /// Register coflows, and change, keep and remove those that the token has registered.
    Register,
    /// The same with the coflows of all. Change settings, drain hosts. Join as an agent or a relay,
    /// where there are no certificates.
    Operate,
}

impl Right {
    /// All rights.
    pub const ALL: [Right; 3] = [Right::Read, Right::Register, Right::Operate];

    /// The name in files and arguments.
    pub fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Register => "register",
            Right::Operate => "operate",
        }
    }
}

/// What the holder of a token may do, as in `read,register`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights(BTreeSet<Right>);

/// A text names no [`Rights`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected one or more of read, register, operate, found '{0}'")]
pub struct RightsError(String);

impl Rights {
    /// All rights.
    pub fn all() -> Rights {
        Rights(Right::ALL.into())
    }

    /// Whether a right is among them.
    pub fn has(&self, right: Right) -> bool {
        self.0.contains(&right)
    }
}

impl FromStr for Rights {
    type Err = RightsError;

    fn from_str(text: &str) -> Result<Rights, RightsError> {
        let right = |name: &str| {
            let known = Right::ALL.into_iter().find(|right| right.name() == name.trim());
            known.ok_or_else(|| RightsError(name.to_owned()))
        };
        text.split(',').map(right).collect::<Result<_, _>>().map(Rights)
    }
}

impl Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|right| right.name()).collect();
        f.write_str(&names.join(","))
    }
}
