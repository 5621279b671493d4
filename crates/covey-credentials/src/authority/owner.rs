//! Whose a certificate is.

use std::fmt::{self, Display};
use std::str::FromStr;

use rcgen::ExtendedKeyUsagePurpose;
use thiserror::Error;

use super::names::{any_name, name_of};

/// Whose a certificate is, as in `agents/3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The coordinator.
    Coordinator,
    /// Whoever may be the agent of any port.
    AnyAgent,
    /// The agent of a port.
    Agent(u32),
    /// The relay of this name or address.
    Relay(String),
}

/// A text names no [`Owner`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected coordinator, agent, agents/PORT or relays/NAME")]
pub struct OwnerError;

/// A certificate with its key in an owner's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// The name of the files, without `.pem` and `.key`.
    pub stem: &'static str,
    /// The name in the certificate's subject.
    pub subject: &'static str,
    /// What the certificate is for.
    pub usage: ExtendedKeyUsagePurpose,
    /// The names in the certificate, unless others are chosen.
    pub names: Vec<String>,
}

impl Kept {
    fn agent(subject: &'static str, name: String) -> Kept {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        Kept { stem: "agent", subject, usage, names: vec![name] }
    }
}

impl Owner {
    /// The owner's folder in that of the authority; none if it is that folder.
    pub(super) fn folder(&self) -> Option<String> {
        match self {
            Owner::Coordinator | Owner::AnyAgent => None,
            Owner::Agent(_) | Owner::Relay(_) => Some(self.to_string()),
        }
    }

    /// The certificates that the owner has.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let usage = ExtendedKeyUsagePurpose::ServerAuth;
        let any = any_name();
        match self {
            Owner::Coordinator => {
                let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
                let subject = "Covey coordinator";
                vec![Kept { stem: "coordinator", subject, usage, names }]
            }
            Owner::AnyAgent => vec![Kept::agent("Covey agent", any)],
            Owner::Agent(port) => vec![Kept::agent("Covey agent", name_of(*port))],
            Owner::Relay(name) => {
                let names = vec![name.clone()];
                let listening = Kept { stem: "relay", subject: "Covey relay", usage, names };
                vec![listening, Kept::agent("Covey relay", any)]
            }
        }
    }
}

impl Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Coordinator => f.write_str("coordinator"),
            Owner::AnyAgent => f.write_str("agent"),
            Owner::Agent(port) => write!(f, "agents/{port}"),
            Owner::Relay(name) => write!(f, "relays/{name}"),
        }
    }
}

impl FromStr for Owner {
    type Err = OwnerError;

    fn from_str(text: &str) -> Result<Owner, OwnerError> {
        match text.split_once('/') {
            None if text == "coordinator" => Ok(Owner::Coordinator),
            None if text == "agent" => Ok(Owner::AnyAgent),
            Some(("agents", port)) => port.parse().map(Owner::Agent).map_err(|_| OwnerError),
            Some(("relays", name)) if is_name(name) => Ok(Owner::Relay(name.to_owned())),
            _ => Err(OwnerError),
        }
    }
}

/// Whether a text can be a name or an address in a certificate, and the name of a folder.
pub fn is_name(text: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    text.len() <= 253
        && text.chars().all(is_fit)
        && text.chars().any(|c| c.is_ascii_alphanumeric())
        // With a colon it is an address of IPv6, not a name with a port.
        && (!text.contains(':') || text.parse::<std::net::Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_as_they_are_written() {
        for text in
            ["coordinator", "agent", "agents/0", "agents/3", "relays/10.0.0.2", "relays/a.b"]
        {
            assert_eq!(text.parse::<Owner>().expect(text).to_string(), text);
        }
        for text in ["", "agents", "agents/x", "agents/-1", "relays/", "relays/../x", "ca", "a/b"] {
            assert_eq!(text.parse::<Owner>(), Err(OwnerError), "{text}");
        }
        assert!(is_name("::1") && is_name("a-b.example") && !is_name("host:7420"));
        assert!(!is_name("http://host") && !is_name("..") && !is_name(""));
    }
}
