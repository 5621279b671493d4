//! Event logs of Apache Spark 3 and 4: what each shuffle moved between hosts, as coflows.
//!
//! A log has the bytes that each task read and wrote, and its host. So what each host sends and
//! receives in a shuffle is exact; only the pairs of hosts are fitted. A coflow is the reads of one
//! attempt of a reduce stage, of all its parents together.
//!
//! ```no_run
//! for log in covey_spark::read("eventlog_v2_app-1".as_ref())? {
//!     println!("{}: {} {}", log.file, log.status, log.reason);
//!     println!("{} bytes crossed the network", log.application.remote());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod anonymise;
mod application;
mod builder;
mod coflow;
mod event;
mod files;
pub mod fit;
mod framing;
mod lines;
mod log;
mod trace;

pub use anonymise::anonymise;
pub use application::{Application, Job, Output, Stage, Task};
pub use coflow::{NetworkFlow, SparkCoflow};
pub use log::{Log, Status, read, read_from};
pub use trace::workload;
