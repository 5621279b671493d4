//! Where a process listens: a host, by name or address, and a port.

use std::fmt::{self, Display};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

/// A host, by name or address, and a port. Names are resolved at each connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    host: ServerName<'static>,
    port: u16,
}

/// A text is no [`Endpoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected a host and a port, like 10.0.0.1:7420, [::1]:7420 or coordinator.example:7420")]
pub struct EndpointError;

impl Endpoint {
    /// Connects to the first of the host's addresses that can be reached.
    ///
    /// # Errors
    /// When the name is not known, or no address can be reached.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        match &self.host {
            ServerName::IpAddress(ip) => TcpStream::connect((IpAddr::from(*ip), self.port)).await,
            host => TcpStream::connect((host.to_str().as_ref(), self.port)).await,
        }
    }

    /// The addresses of the host.
    ///
    /// # Errors
    /// When the name is not known.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        tokio::net::lookup_host(self.to_string()).await.map(Iterator::collect)
    }

    /// The name or address that the certificate of the other side must have.
    pub fn server_name(&self) -> ServerName<'static> {
        self.host.clone()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the host is this machine, by address or as `localhost`.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            ServerName::IpAddress(ip) => IpAddr::from(*ip).is_loopback(),
            host => host.to_str().eq_ignore_ascii_case("localhost"),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint { host: address.ip().into(), port: address.port() }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Endpoint, EndpointError> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let (host, port) = text.rsplit_once(':').ok_or(EndpointError)?;
        let port = port.parse().map_err(|_| EndpointError)?;
        match ServerName::try_from(host.to_owned()) {
            // What looks like an address and is none is no name either; one of IPv6 needs its
            // brackets.
            Ok(host @ ServerName::DnsName(_)) if !is_number(host.to_str().as_ref()) => {
                Ok(Endpoint { host, port })
            }
            _ => Err(EndpointError),
        }
    }
}

/// Whether a host consists of digits and dots.
fn is_number(host: &str) -> bool {
    host.chars().all(|c| c.is_ascii_digit() || c == '.')
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ServerName::IpAddress(ip) => SocketAddr::new((*ip).into(), self.port).fmt(f),
            host => write!(f, "{}:{}", host.to_str(), self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_read_and_written() {
        for text in ["10.0.0.1:7420", "[::1]:7420", "coordinator.example:1", "localhost:7421"] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!(endpoint.to_string(), text);
            assert_eq!(endpoint.is_loopback(), text.starts_with(['[', 'l']));
        }
        for text in [
            "",
            ":1",
            "host",
            "host:",
            "host:99999",
            "http://host:1",
            "a b:1",
            "::1:7420",
            "10.0.0.300:1",
            "10.0.0:1",
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(EndpointError), "{text}");
        }
    }
}
