//! The thread that writes to the connections of agents.
//!
//! One thread writes what agents have to hear after a decision, to one socket after the other: to
//! wake a task for each would cost half as much again as the writing does. Only what a socket does
//! not take at once is left to the connection's task. What the agents of a relay have to hear is
//! written at once for all of them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tokio::sync::mpsc::{self, WeakSender};

use super::command::Command;
use super::route::{Group, Route};
use super::trunk::Trunk;
use crate::connections::Rest;

/// Writes until nobody can hand over a group any more.
pub(super) fn run(groups: &Receiver<Vec<Group>>, commands: &WeakSender<Command>) {
    for groups in groups {
        let mut trunks: Vec<Arc<Trunk>> = Vec::new();
        for (route, bytes) in groups {
            match &route {
                Route::Own(outbox) => {
                    // If the decision thread is gone there is nobody to tell.
                    if outbox.write(bytes)
                        && let Some(commands) = commands.upgrade()
                    {
                        let _ = commands.blocking_send(Command::Writable(outbox.session()));
                    }
                }
                Route::Relayed(agent) => {
                    agent.send(bytes);
                    if !trunks.iter().any(|trunk| Arc::ptr_eq(trunk, agent.trunk())) {
                        trunks.push(agent.trunk().clone());
                    }
                }
            }
        }
        trunks.iter().for_each(|trunk| trunk.flush());
    }
}

/// Writes what a socket did not take at once, until nobody has the way to the connection any more.
///
/// # Errors
/// When the connection breaks, or takes too long for a group.
pub(super) async fn write_rest(mut rest: Rest, commands: &mpsc::Sender<Command>) -> io::Result<()> {
    while let Some(is_wanted) = rest.write_next().await? {
        if is_wanted {
            let more = commands.send(Command::Writable(rest.session())).await;
            more.map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::connections::Outbox;

    /// A connection that takes a few bytes at a time, and one that waits: all comes, in order.
    #[tokio::test]
    async fn what_a_socket_does_not_take_at_once_comes_later_and_in_order() {
        let (near, mut far) = tokio::io::duplex(10);
        let (outbox, rest) = Outbox::new(7, Box::new(near));
        let (commands, mut told) = mpsc::channel(8);
        let (groups, to_write) = std::sync::mpsc::channel();
        let weak = commands.downgrade();
        let thread = std::thread::spawn(move || run(&to_write, &weak));
        let sender = commands.clone();
        let task = tokio::spawn(async move { write_rest(rest, &sender).await });

        let first: Vec<u8> = (0..100).collect();
        let route = Route::Own(outbox);
        assert!(route.is_free());
        groups.send(vec![route.group(first.clone())]).expect("a thread");
        assert!(!route.is_free(), "one group at a time");
        let mut come = vec![0; 100];
        far.read_exact(&mut come).await.expect("all of it");
        assert_eq!(come, first);
        assert!(matches!(told.recv().await, Some(Command::Writable(7))));

        assert!(route.is_free());
        groups.send(vec![route.group(vec![9; 4])]).expect("a thread");
        far.read_exact(&mut come[..4]).await.expect("all of it");
        drop((groups, route));
        thread.join().expect("no panic");
        task.await.expect("no panic").expect("written");
        assert_eq!(far.read(&mut come).await.expect("closed"), 0);
    }
}
