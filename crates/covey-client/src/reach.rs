//! Connections to other hosts, whose failures name the addresses that were tried.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, ToSocketAddrs, lookup_host};
use tokio::time::timeout;

/// Maximum time to connect to the other host of a flow.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// Connects to the first of the addresses that can be reached.
///
/// # Errors
/// When there is none, or none can be reached. The error names each address, and has the kind of
/// the last failure.
pub async fn reach(to: impl ToSocketAddrs) -> io::Result<TcpStream> {
    reach_within(to, CONNECT_WITHIN).await
}

async fn reach_within(to: impl ToSocketAddrs, within: Duration) -> io::Result<TcpStream> {
    let (mut kind, mut tried) = (io::ErrorKind::NotFound, Vec::new());
    let addresses: Vec<SocketAddr> = lookup_host(to).await?.collect();
    let connecting = async {
        for &address in &addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return Some(stream),
                Err(error) => {
                    kind = error.kind();
                    tried.push(format!("{address}: {error}"));
                }
            }
        }
        None
    };
    match timeout(within, connecting).await {
        Ok(Some(stream)) => return Ok(stream),
        Ok(None) => {}
        Err(_) => {
            kind = io::ErrorKind::TimedOut;
            let silent = addresses[tried.len()..].first();
            let silent = silent.map_or_else(|| "the host".to_owned(), SocketAddr::to_string);
            tried.push(format!("{silent}: no answer within {} s", within.as_secs_f64()));
        }
    }
    match tried.is_empty() {
        true => Err(io::Error::new(kind, "the host has no address")),
        false => Err(io::Error::new(kind, tried.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn each_address_that_refuses_is_named() {
        let port = async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            listener.local_addr().expect("an address")
        };
        let both = [port().await, port().await];
        let error = reach(&both[..]).await.expect_err("nobody listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let text = error.to_string();
        assert!(both.iter().all(|address| text.contains(&format!("{address}: "))), "{text}");
        let none = reach(&[][..]).await.expect_err("no address");
        assert_eq!(none.to_string(), "the host has no address");
    }

    #[tokio::test]
    async fn an_address_that_does_not_answer_is_named() {
        // Not routed: packets to it are lost, or the system says at once that there is no way.
        let silent: SocketAddr = "192.0.2.1:9".parse().expect("an address");
        let error = reach_within(silent, Duration::from_millis(50)).await.expect_err("nobody");
        assert!(error.to_string().starts_with("192.0.2.1:9: "), "{error}");
    }
}
