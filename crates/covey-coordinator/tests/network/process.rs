//! The coordinator's process, which crashes and starts again.

use covey_coordinator::{Config, CoordinatorState, Record};
use covey_core::{Fabric, Time};

use crate::disk::Disk;

/// The process and its disk.
pub struct Process {
    policy: &'static str,
    pub ports: u32,
    pub core: CoordinatorState,
    epoch: u64,
    pub is_up: bool,
    /// When it starts again, if it is not up.
    starts_s: f64,
    pub disk: Disk,
}

fn start(
    policy: &str,
    ports: u32,
    epoch: u64,
    records: Vec<Record>,
    now_s: f64,
) -> CoordinatorState {
    let fabric = Fabric::big_switch(ports, 1.0).expect("a fabric");
    let policy = covey_sched::build(policy).unwrap_or_else(|error| panic!("{error}")).policy;
    // Most coflows are wide enough for changes in pieces.
    let config = Config {
        heartbeat_s: 0.2,
        lost_after_s: 1.0,
        report_every_s: 0.1,
        piece: 2,
        ..Config::default()
    };
    CoordinatorState::new(fabric, policy, config, epoch, records, Time::from_secs(now_s))
}

impl Process {
    /// One that starts for the first time.
    pub fn new(policy: &'static str, ports: u32) -> Process {
        let disk = Disk::of(vec![Record::Epoch(1)]);
        let core = start(policy, ports, 1, disk.records.clone(), 0.0);
        Process { policy, ports, core, epoch: 1, is_up: true, starts_s: 0.0, disk }
    }

    /// Crashes, until `starts_s`. Of the records on the way to the disk, so many get there.
    pub fn crash(&mut self, starts_s: f64, written: usize) {
        self.is_up = false;
        self.starts_s = starts_s;
        self.disk.crash(written);
    }

    /// Starts again when it is time.
    pub fn restart(&mut self, now_s: f64) {
        if !self.is_up && now_s >= self.starts_s {
            self.is_up = true;
            self.epoch += 1;
            self.disk.records.push(Record::Epoch(self.epoch));
            let records = self.disk.records.clone();
            self.core = start(self.policy, self.ports, self.epoch, records, now_s);
        }
    }

    /// Compacts the journal.
    pub fn compact(&mut self) {
        let (known, under_way) = self.core.snapshot();
        self.disk.records = known;
        self.disk.records.extend(under_way.into_iter().map(|(_, record)| record));
    }
}
