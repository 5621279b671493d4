//! Takes connections, as many at a time as are allowed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::metrics::count;
use super::shared::Shared;

/// Tells when all is to end.
#[derive(Clone)]
pub(super) struct Stop(pub watch::Receiver<bool>);

impl Stop {
    /// Returns when all is to end.
    pub async fn asked(&mut self) {
        // Who could say so is gone: that is the end as well.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

/// Serves each connection with `serve`, at most `most` at a time, until `stop` says so; those above are
/// closed and counted.
pub(super) async fn accept<S, F>(
    listener: TcpListener,
    most: usize,
    shared: Arc<Shared>,
    mut stop: Stop,
    serve: S,
) where
    S: Fn(TcpStream, SocketAddr, Stop) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let connections = Arc::new(Semaphore::new(most));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.asked() => return,
        };
        let Ok((stream, peer)) = accepted else {
            // Too many open files, as a rule: others will close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            count(&shared.refused.connections);
            continue;
        };
        let (serve, stop) = (serve.clone(), stop.clone());
        tokio::spawn(async move {
            // Made here, not outside: the task would have room for it twice.
            serve(stream, peer, stop).await;
            drop(permit);
        });
    }
}
