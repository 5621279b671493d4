//! Accepts the connections that a door lets in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use covey_door::{Door, Guest, Peer, Reason};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

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

/// Connections that may wait to be accepted. If more come at once, their hosts try again a second
/// later.
const BACKLOG: u32 = 4096;

/// Listens at an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// How long accepting pauses where no file is left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves with `serve` each connection that `door` lets in, until `stop` says so.
pub(crate) async fn accept<S, F>(listener: TcpListener, door: Arc<Door>, mut stop: Stop, serve: S)
where
    S: Fn(TcpStream, Arc<Guest>, Stop) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.asked() => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                let pause = not_accepted(&door, &error);
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        let Some(entrance) = door.enter(Peer::of(address), address.to_string()) else { continue };
        let (serve, stop) = (serve.clone(), stop.clone());
        // The future is made in the task: made outside, the task would hold it twice.
        tokio::spawn(async move { entrance.serve(move |guest| serve(stream, guest, stop)).await });
        // What has already come from the connection is read before others can take its place.
        tokio::task::yield_now().await;
    }
}

/// A connection was not accepted. Returns how long to wait before the next one.
fn not_accepted(door: &Door, error: &io::Error) -> Duration {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) if door.make_room() => Duration::from_millis(1),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
            door.refusals().refuse(Reason::Files, "unknown", None, error);
            PAUSE
        }
        // The other side has gone meanwhile.
        _ => Duration::ZERO,
    }
}
