//! Accepts connections, up to a limit.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Tells when the server has to stop.
#[derive(Clone)]
pub(crate) struct Stop(pub watch::Receiver<bool>);

impl Stop {
    /// Returns when the server has to stop.
    pub async fn asked(&mut self) {
        // If the sender is gone the server has stopped.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

/// Serves each connection with `serve` until `stop` says so. At most `max` are served at a time; others are
/// closed, and `refused` is called.
pub(crate) async fn accept<S, F>(
    listener: TcpListener,
    max: usize,
    refused: impl Fn(),
    mut stop: Stop,
    serve: S,
) where
    S: Fn(TcpStream, SocketAddr, Stop) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let connections = Arc::new(Semaphore::new(max));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.asked() => return,
        };
        let Ok((stream, peer)) = accepted else {
            // As a rule there are too many open files, and some will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            refused();
            continue;
        };
        let (serve, stop) = (serve.clone(), stop.clone());
        tokio::spawn(async move {
            // The future is made in the task: made outside, the task would hold it twice.
            serve(stream, peer, stop).await;
            drop(permit);
        });
    }
}
