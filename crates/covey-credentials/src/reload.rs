//! Reads files again that change while a process runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use covey_api::CredentialError;
use tokio::sync::mpsc;

/// Something that comes from files.
pub trait Reload: Send + Sync {
    /// What it is, for logs.
    fn name(&self) -> &'static str;

    /// The files. They need not exist.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads the files again.
    ///
    /// # Errors
    /// When they cannot be used. Then what was read before stays in force.
    fn reload(&self) -> Result<(), CredentialError>;

    /// Is called once a day, and after each reload.
    fn check(&self) {}
}

/// Time between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Time between two checks.
const CHECK_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Files, with the times of their last changes and their lengths.
type Stamps = Vec<Option<(SystemTime, u64)>>;

fn stamps(part: &dyn Reload) -> Stamps {
    let stamp = |path: PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    part.files().into_iter().map(stamp).collect()
}

/// Parts that have been read, and how their files were then.
pub struct Watched(Vec<(Arc<dyn Reload>, Stamps)>);

impl Watched {
    /// Parts that have just been read.
    pub fn of(parts: Vec<Arc<dyn Reload>>) -> Watched {
        let with_stamps = |part: Arc<dyn Reload>| {
            let found = stamps(part.as_ref());
            (part, found)
        };
        Watched(parts.into_iter().map(with_stamps).collect())
    }

    /// Reads parts again whose files have changed, and all when `asked` has a message.
    pub async fn keep(mut self, mut asked: mpsc::Receiver<()>) {
        let mut checked = tokio::time::Instant::now();
        loop {
            let is_asked = tokio::select! {
                Some(()) = asked.recv() => true,
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
            let is_due = checked.elapsed() >= CHECK_EVERY;
            if is_due {
                checked = tokio::time::Instant::now();
            }
            for (part, known) in &mut self.0 {
                let found = stamps(part.as_ref());
                if is_asked || found != *known {
                    *known = found;
                    read_again(part.as_ref());
                } else if is_due {
                    part.check();
                }
            }
        }
    }
}

fn read_again(part: &dyn Reload) {
    match part.reload() {
        Ok(()) => tracing::info!("read again: {}", part.name()),
        Err(error) => {
            tracing::error!(%error, "not read again, what was read before stays in force: {}", part.name());
        }
    }
    part.check();
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often it is read.
    struct Counted(PathBuf, AtomicUsize);

    impl Reload for Counted {
        fn name(&self) -> &'static str {
            "a test"
        }

        fn files(&self) -> Vec<PathBuf> {
            vec![self.0.clone()]
        }

        fn reload(&self) -> Result<(), CredentialError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[tokio::test]
    async fn files_are_read_again_when_they_change_and_when_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = Arc::new(Counted(folder.path().join("file"), AtomicUsize::new(0)));
        let (ask, asked) = mpsc::channel(1);
        let task = tokio::spawn(Watched::of(vec![part.clone()]).keep(asked));
        let count = || part.1.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(50)).await;
        std::fs::write(&part.0, "x").expect("a file");
        tokio::time::sleep(LOOK_EVERY + Duration::from_millis(500)).await;
        assert_eq!(count(), 1, "it has appeared");
        ask.send(()).await.expect("it is asked");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(count(), 2, "it was asked");
        task.abort();
    }
}
