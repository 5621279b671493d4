//! People who look at the coordinator's page.

use std::time::{Duration, Instant};

use covey_load::Coordinator;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::Result;

/// What the page asks for, each two seconds.
const PATHS: [&str; 5] = [
    "/v1/coordinator",
    "/v1/coflows?limit=200",
    "/v1/waiting?limit=200",
    "/v1/agents?limit=200",
    "/v1/recording?limit=200",
];
const EVERY: Duration = Duration::from_secs(2);

/// People who look, until they are told to end.
pub struct Viewers {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<Result<Vec<f64>>>>,
}

impl Viewers {
    /// So many begin to look.
    pub async fn start(coordinator: &Coordinator, count: u32) -> Result<Viewers> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = Vec::new();
        for _ in 0..count {
            let (mut client, stopped) = (coordinator.client().await?, stopped.clone());
            tasks.push(tokio::spawn(async move {
                let mut times = Vec::new();
                while !*stopped.borrow() {
                    let begun = Instant::now();
                    for path in PATHS {
                        let answer = client.get(path).await?;
                        if answer.status != 200 {
                            return Err(format!("{path}: {}", answer.status).into());
                        }
                    }
                    times.push(begun.elapsed().as_secs_f64());
                    sleep(EVERY).await;
                }
                Ok(times)
            }));
        }
        Ok(Viewers { stop, tasks })
    }

    /// They stop looking. Returns a cell with their number and how long a look took in the median,
    /// or nothing if there are none.
    pub async fn end(self) -> Result<String> {
        // Nobody may look.
        let _ = self.stop.send(true);
        let count = self.tasks.len();
        let mut times = Vec::new();
        for task in self.tasks {
            times.extend(task.await??);
        }
        times.sort_by(f64::total_cmp);
        Ok(times.get(times.len() / 2).map_or_else(String::new, |median| {
            format!(" {count} viewers, {:.0} ms each look |", 1e3 * median)
        }))
    }
}
