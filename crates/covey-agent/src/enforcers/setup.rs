//! What enforcers are made from, and what describes one.

use std::path::PathBuf;
use std::time::Duration;

use covey_proto::Means;
use thiserror::Error;

use crate::enforcer::Enforcer;
use crate::shaper::Shaper;
use crate::socket::SocketOptions;

/// An enforcer as `covey agent --enforcer` offers it.
#[derive(Debug, Clone, Copy)]
pub struct EnforcerInfo {
    /// The value of `--enforcer`.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// What the enforcer consists of.
    pub(crate) make: Make,
}

/// What an enforcer consists of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Make {
    /// Applications carry schedules out at their own sockets, by these means.
    Sockets(Means),
    /// Applications hold flows that wait; a shaper keeps the rates of the others.
    Shaped(fn(&Setup) -> Result<Box<dyn Shaper>, SetupError>),
    /// The enforcer has no applications.
    Alone(fn(&Setup) -> Result<Box<dyn Enforcer>, SetupError>),
}

/// The settings that enforcers are made from.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The port of the fabric that this host is.
    pub port: u32,
    /// Paths of the socket for applications. The first that can be used is taken.
    pub sockets: Vec<PathBuf>,
    /// Who may use the socket.
    pub socket: SocketOptions,
    /// How often applications report what they have sent.
    pub report_every: Duration,
    /// The network device that flows leave by.
    pub device: Option<String>,
    /// The speed of the device's link in bytes per second, if it is not to be read from the device.
    pub link_rate: Option<f64>,
    /// The file that schedules are recorded to.
    pub record: Option<PathBuf>,
}

/// Why an enforcer cannot be made: the option at fault, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{option}: {problem}")]
pub struct SetupError {
    /// The option of `covey agent`.
    pub option: &'static str,
    /// What was expected and found, or what failed.
    pub problem: String,
}

impl SetupError {
    pub(crate) fn new(option: &'static str, problem: impl Into<String>) -> SetupError {
        SetupError { option, problem: problem.into() }
    }
}
