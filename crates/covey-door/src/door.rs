//! A door: the quotas of a listener, and the connections that are inside.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::peer::Peer;
use crate::quotas::{Id, Limits, Occupancy, Quotas};
use crate::refusals::{Reason, Refusals};

/// Stands before a listener, and says which connections may come in.
#[derive(Debug)]
pub struct Door {
    refusals: Refusals,
    inside: Mutex<Inside>,
}

/// The connections that are inside.
#[derive(Debug)]
struct Inside {
    quotas: Quotas,
    /// Closes connections that have not shown a credential.
    closers: HashMap<Id, oneshot::Sender<Reason>>,
}

impl Door {
    /// A door with this name in logs and metrics.
    pub fn new(name: &'static str, limits: Limits) -> Arc<Door> {
        let inside = Inside { quotas: Quotas::new(limits), closers: HashMap::new() };
        Arc::new(Door { refusals: Refusals::new(name), inside: Mutex::new(inside) })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The refusals so far.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// How many connections are open.
    pub fn occupancy(&self) -> Occupancy {
        self.lock().quotas.occupancy()
    }

    /// Lets a connection in, if there is room or can be made. `peer` names it in quotas, `shown` in
    /// logs. Otherwise the refusal is counted and logged, and the caller is to close the
    /// connection.
    pub fn enter(self: &Arc<Door>, peer: Peer, shown: String) -> Option<Entrance> {
        let mut inside = self.lock();
        let (id, closed) = match inside.quotas.enter(peer) {
            Ok(entered) => entered,
            Err(reason) => {
                let limits = inside.quotas.limits();
                drop(inside);
                let detail = match reason {
                    Reason::PeerQuota => format!("{peer} has {} connections", limits.max_per_peer),
                    _ => format!("there are {} connections", limits.max),
                };
                self.refusals.refuse(reason, shown, None, detail);
                return None;
            }
        };
        if let Some((closed, _)) = closed {
            inside.close(closed, Reason::Displaced);
        }
        let (closer, closed) = oneshot::channel();
        inside.closers.insert(id, closer);
        drop(inside);
        let is_authenticated = AtomicBool::new(false);
        let guest = Guest { door: self.clone(), id, peer, shown, is_authenticated };
        Some(Entrance { guest: Arc::new(guest), closed })
    }

    /// Closes a connection that has shown no credential, because the process has no more files.
    /// Returns whether there was one.
    pub fn make_room(&self) -> bool {
        let mut inside = self.lock();
        let closed = inside.quotas.make_room();
        closed.is_some_and(|(id, _)| inside.close(id, Reason::Files))
    }
}

impl Inside {
    /// Has the task of a connection end it. Returns whether it has not ended by itself.
    fn close(&mut self, id: Id, reason: Reason) -> bool {
        self.closers.remove(&id).is_some_and(|closer| closer.send(reason).is_ok())
    }
}

/// A connection that has come in.
#[derive(Debug)]
pub struct Guest {
    door: Arc<Door>,
    id: Id,
    peer: Peer,
    shown: String,
    is_authenticated: AtomicBool,
}

impl Guest {
    /// The connection has shown a credential: it stays until it ends. A connection that was closed
    /// to make room a moment before ends all the same.
    pub fn authenticate(&self) {
        if self.is_authenticated() {
            return;
        }
        let mut inside = self.door.lock();
        // Without a closer it was closed to make room, and counts no more.
        if inside.closers.remove(&self.id).is_some() {
            inside.quotas.authenticate(self.id, self.peer);
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Relaxed)
    }

    /// The name of the connection in logs.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Counts and logs that this connection, or a request of it, is refused. `port` is the one that
    /// it claims.
    pub fn refuse(&self, reason: Reason, port: Option<u32>, detail: impl Display) {
        self.door.refusals.refuse(reason, &self.shown, port, detail);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut inside = self.door.lock();
        inside.closers.remove(&self.id);
        match self.is_authenticated() {
            true => inside.quotas.leave_authenticated(self.peer),
            false => inside.quotas.leave(self.id, self.peer),
        }
    }
}

/// A connection that has come in and is not served yet.
#[derive(Debug)]
pub struct Entrance {
    guest: Arc<Guest>,
    closed: oneshot::Receiver<Reason>,
}

impl Entrance {
    /// Serves the connection with `serve` until that ends. Drops it, and so closes the connection,
    /// when the connection shows no credential in time, or has to make room.
    pub async fn serve<F: Future<Output = ()>>(self, serve: impl FnOnce(Arc<Guest>) -> F) {
        let Entrance { guest, closed } = self;
        let patience = guest.door.lock().quotas.limits().patience;
        let late = async {
            tokio::time::sleep(patience).await;
            // Without a closer the connection has shown a credential, or makes room.
            if guest.door.lock().closers.contains_key(&guest.id) {
                return;
            }
            std::future::pending().await
        };
        tokio::select! {
            () = serve(guest.clone()) => {}
            Ok(reason) = closed => {
                let detail = match reason {
                    Reason::Files => "the process has no more files (ulimit -n)",
                    _ => "it made room for another connection: it had shown no credential",
                };
                guest.refuse(reason, None, detail);
            }
            () = late => {
                let detail = format!("it has shown no credential for {} s", patience.as_secs_f64());
                guest.refuse(Reason::Late, None, detail);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn door(patience_ms: u64) -> Arc<Door> {
        let patience = Duration::from_millis(patience_ms);
        let limits = Limits { max: 4, max_per_peer: 3, max_unauthenticated: 2, patience };
        Door::new("test", limits)
    }

    fn enter(door: &Arc<Door>, n: u8) -> Option<Entrance> {
        let address = ([127, 0, 0, n], 1).into();
        door.enter(Peer::of(address), address.to_string())
    }

    /// Serves a connection until it is closed.
    async fn hold(entrance: Entrance, authenticates: bool) {
        let serve = |guest: Arc<Guest>| async move {
            if authenticates {
                guest.authenticate();
            }
            std::future::pending().await
        };
        entrance.serve(serve).await;
    }

    #[tokio::test]
    async fn who_shows_no_credential_in_time_is_closed_and_others_stay() {
        let door = door(20);
        let silent = tokio::spawn(hold(enter(&door, 1).expect("room"), false));
        let good = tokio::spawn(hold(enter(&door, 2).expect("room"), true));
        silent.await.expect("it is closed");
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(!good.is_finished());
        assert_eq!(door.occupancy(), Occupancy { authenticated: 1, unauthenticated: 0 });
        assert_eq!(door.refusals().count(Reason::Late), 1);
        good.abort();
        assert!(good.await.is_err());
        assert_eq!(door.occupancy(), Occupancy::default());
    }

    #[tokio::test]
    async fn the_oldest_without_a_credential_makes_room() {
        let door = door(60_000);
        let first = tokio::spawn(hold(enter(&door, 1).expect("room"), false));
        let second = tokio::spawn(hold(enter(&door, 2).expect("room"), false));
        let third = enter(&door, 3).expect("room is made");
        first.await.expect("it is closed");
        assert!(!second.is_finished());
        assert_eq!(door.refusals().count(Reason::Displaced), 1);
        assert_eq!(door.occupancy().unauthenticated, 2);
        assert!(door.make_room());
        second.await.expect("it is closed");
        assert_eq!(door.refusals().count(Reason::Files), 1);
        drop(third);
        assert!(!door.make_room());
        assert_eq!(door.occupancy(), Occupancy::default());
    }

    /// A credential that comes too late does not bring a closed connection back, and counts stay
    /// right.
    #[tokio::test]
    async fn a_connection_that_makes_room_cannot_show_a_credential_any_more() {
        let door = door(60_000);
        let entered: Vec<_> = (1..=3).map(|n| enter(&door, n).expect("room")).collect();
        entered.iter().for_each(|entrance| entrance.guest.authenticate());
        assert_eq!(door.occupancy(), Occupancy { authenticated: 2, unauthenticated: 0 });
        drop(entered);
        assert_eq!(door.occupancy(), Occupancy::default());
    }

    #[tokio::test]
    async fn a_peer_with_all_its_connections_is_refused() {
        let door = door(60_000);
        let held: Vec<_> = (0..3)
            .map(|_| enter(&door, 1).expect("room"))
            .inspect(|it| it.guest.authenticate())
            .collect();
        assert!(enter(&door, 1).is_none());
        let other = enter(&door, 2).expect("another peer has room");
        other.guest.authenticate();
        assert!(enter(&door, 3).is_none());
        let refusals = door.refusals();
        assert_eq!([refusals.count(Reason::PeerQuota), refusals.count(Reason::Full)], [1, 1]);
        drop(held);
        assert!(enter(&door, 3).is_some());
    }
}
