//! Records what coflows do: looks at them again and again, beside the decision thread.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use super::command::Command;
use crate::connections::lock;
use crate::recording::Recorder;

/// The time from one look to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Between two looks there is at least so many times what the last one took, so that recording
/// takes a twentieth of a core at most.
const REST: u32 = 20;

/// Looks until there is no decision thread any more.
pub(super) async fn run(recorder: Arc<Mutex<Recorder>>, commands: mpsc::WeakSender<Command>) {
    let mut is_first = true;
    loop {
        let (sender, look) = oneshot::channel();
        let Some(to) = commands.upgrade() else { return };
        if to.send(Command::Look(sender)).await.is_err() {
            return;
        }
        drop(to);
        let Ok(look) = look.await else { return };
        let recorder = recorder.clone();
        let began = Instant::now();
        let looked = spawn_blocking(move || {
            if is_first {
                *lock(&recorder) = Recorder::new(&look);
            } else {
                // Readers wait only while what was seen is taken over.
                let present = look.present().collect();
                lock(&recorder).add(&look, present);
            }
        });
        if let Err(error) = looked.await {
            tracing::error!(%error, "nothing more is recorded of what coflows do");
            return;
        }
        is_first = false;
        tokio::time::sleep(EVERY.max(began.elapsed() * REST)).await;
    }
}
