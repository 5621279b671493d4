//! What every replay needs: the scheduler that a contender names, the trace as a file, and signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_reproduce::plan::TCP;
use covey_testbed::Scheduler;
use covey_trace::Workload;

use crate::failure::Failure;
use crate::live::process;
use crate::output;

/// The policy whose receivers decide on the testbed, too.
const STREAM: &str = "stream";
/// The policy that finds coflows by itself.
pub const CODA: &str = "coda";

/// The policy of a coordinator that is told the coflows of flows, for one that would have
/// applications name them.
pub fn told(spec: &str) -> Option<String> {
    let (name, settings) = spec.split_once(':')?;
    let is_named = |item: &str| {
        item.split_once('=')
            .is_some_and(|(key, value)| (key.trim(), value.trim()) == ("labels", "true"))
    };
    let settings: Vec<&str> = settings.split(',').collect();
    settings.iter().any(|item| is_named(item)).then(|| {
        let items = settings.iter().map(|item| if is_named(item) { "labels=told" } else { *item });
        format!("{name}:{}", items.collect::<Vec<_>>().join(","))
    })
}

/// The scheduler of a contender.
pub fn scheduler(spec: &str) -> Scheduler<'_> {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    match name {
        TCP => Scheduler::Tcp,
        STREAM => Scheduler::Receivers(settings),
        _ => Scheduler::Policy(spec),
    }
}

/// A trace as a file for the hosts. The file is removed with the value.
pub struct FoldedTrace {
    /// The file.
    pub path: PathBuf,
    _folder: tempfile::TempDir,
}

impl FoldedTrace {
    /// Writes a workload.
    pub fn write(workload: &Workload) -> Result<FoldedTrace, Failure> {
        let folder = tempfile::tempdir().map_err(|error| Failure::Other(error.to_string()))?;
        let path = folder.path().join("trace.jsonl");
        output::write(&path, |out| covey_trace::write(workload, out))?;
        Ok(FoldedTrace { path, _folder: folder })
    }
}

/// Set when the process is asked to end.
pub fn watch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (runtime, asked) = (process::runtime(1)?, stop.clone());
    std::thread::spawn(move || {
        runtime.block_on(async {
            process::asked_to_end().await;
        });
        asked.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_is_told_what_applications_would_have_named() {
        assert_eq!(told("coda:K=4,labels=true").as_deref(), Some("coda:K=4,labels=told"));
        assert_eq!(told("coda:labels=false"), None);
        assert_eq!(told("coda"), None);
    }
}
