//! Attached connections, as an agent's [`Enforcer`].

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use covey_agent::{CoordinatorEvent, Enforcer, Progress, Share};
use covey_proto::FlowKey;

use crate::connection::UNPACED;
use crate::flows::{Flows, Over};
use crate::hold::Hold;
use crate::pace::{kick, pace};
use crate::sockets::Sockets;
use crate::target::{OpenFile, Target};

/// To look takes at most this part of a processor: with very many connections it is done less often. With what comes of
/// a look, about a hundredth.
const LOAD: f64 = 0.007;
/// To read which files processes have takes at most this part of the time while there are sockets that are not known.
const READING: f64 = 0.05;

/// What is done to a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Done {
    Paced(f64),
    Held,
}

/// The connections of processes that know nothing of Covey.
pub struct Attached {
    target: Target,
    sockets: Sockets,
    flows: Flows,
    hold: Option<Hold>,
    /// The processes' sockets, by inode.
    files: BTreeMap<u32, OpenFile>,
    /// When they may be read again because of a socket that is not known.
    next_reading: Instant,
    /// What is done to flows, by their numbers.
    done: BTreeMap<u64, Done>,
    /// Flows that were to be served otherwise, and whose files were not known.
    waiting: BTreeMap<u64, Option<Share>>,
    started: Instant,
    next_look: Instant,
}

impl Attached {
    /// Watches the connections of `target`. `hold`: what keeps flows back that have to wait; without it nothing is
    /// done to flows.
    ///
    /// # Errors
    /// When the kernel does not show connections.
    pub fn new(target: Target, hold: Option<Hold>) -> io::Result<Attached> {
        let now = Instant::now();
        Ok(Attached {
            target,
            sockets: Sockets::open()?,
            flows: Flows::default(),
            hold,
            files: BTreeMap::new(),
            next_reading: now,
            done: BTreeMap::new(),
            waiting: BTreeMap::new(),
            started: now,
            next_look: now,
        })
    }

    /// Whether the kernel tells of every connection that ends.
    pub fn sees_ends(&self) -> bool {
        self.sockets.sees_ends()
    }

    /// Seconds since [`Attached::new`], the clock of [`Over`] and of [`Flows`].
    pub fn now_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The flows that are watched.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Takes the flows that have ended since this was last called.
    pub fn take_over(&mut self) -> Vec<Over> {
        self.flows.take_over()
    }

    /// Looks at the connections. Returns what has happened.
    ///
    /// # Errors
    /// When the kernel does not show connections.
    pub fn look(&mut self) -> io::Result<Progress> {
        let begin = Instant::now();
        // First those that have ended: a connection that ends now is told of next time.
        let mut ended = self.sockets.take_ended()?;
        let mut open = self.sockets.list()?;
        if self.target != Target::Host {
            self.read_files(open.iter().chain(&ended).map(|it| it.inode));
            let known = self.flows.open();
            // A socket that is destroyed is no file any more.
            ended.retain(|it| known.contains_key(&it.cookie) || self.files.contains_key(&it.inode));
            open.retain(|it| known.contains_key(&it.cookie) || self.files.contains_key(&it.inode));
        }
        let progress = self.flows.look(&open, &ended, self.now_s());
        progress.ended.iter().for_each(|ended| self.forget(ended.key.coflow));
        self.next_look = Instant::now() + begin.elapsed().div_f64(LOAD);
        Ok(progress)
    }

    /// Reads which sockets the processes have, if one of these is not known.
    fn read_files(&mut self, mut inodes: impl Iterator<Item = u32>) {
        let begin = Instant::now();
        let is_unknown = |inode| inode != 0 && !self.files.contains_key(&inode);
        if begin >= self.next_reading && inodes.any(is_unknown) {
            self.files = self.target.sockets();
            self.next_reading = Instant::now() + begin.elapsed().div_f64(READING);
        }
    }

    fn file(&mut self, inode: u32) -> Option<OpenFile> {
        if !self.files.contains_key(&inode) {
            self.read_files([inode].into_iter());
        }
        self.files.get(&inode).copied()
    }

    /// A flow has ended.
    fn forget(&mut self, number: u64) {
        self.waiting.remove(&number);
        if self.done.remove(&number) == Some(Done::Held) {
            self.let_go(number);
        }
    }

    /// Has a flow sent as its share says; `None`: as if nobody were here. If its file is not known yet, it is tried again
    /// at the next look.
    fn serve(&mut self, number: u64, share: Option<Share>) -> io::Result<()> {
        self.waiting.remove(&number);
        let Some(flow) = self.flows.open().get(&number).copied() else { return Ok(()) };
        let wanted = share.map(|share| match share.rate {
            rate if rate > 0.0 => Done::Paced(rate),
            _ => Done::Held,
        });
        let was = self.done.get(&number).copied();
        let Some(hold) = self.hold.as_mut().filter(|_| was != wanted) else { return Ok(()) };
        if wanted == Some(Done::Held) {
            hold.hold(number)?;
            self.done.insert(number, Done::Held);
            return Ok(());
        }
        let Some(file) = self.file(flow.inode) else {
            self.waiting.insert(number, share);
            return Ok(());
        };
        let pace_at = match wanted {
            // What a program has asked for stays its limit.
            Some(Done::Paced(rate)) => (rate.max(1.0) as u64).min(flow.own_pace),
            _ => flow.own_pace,
        };
        pace(file, pace_at)?;
        if was == Some(Done::Held) {
            self.let_go(number);
            kick(file)?;
        }
        match wanted {
            Some(done) => self.done.insert(number, done),
            None => self.done.remove(&number),
        };
        Ok(())
    }

    fn let_go(&mut self, number: u64) {
        if let Some(hold) = &mut self.hold {
            hold.let_go(number);
        }
    }
}

impl Enforcer for Attached {
    fn apply(&mut self, _: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        let listed = flows.iter().filter_map(|(key, share)| Some((key.number()?, *share)));
        let listed: BTreeMap<u64, Share> = listed.collect();
        let others = self.done.keys().filter(|number| !listed.contains_key(number));
        let free: Vec<u64> = others.copied().collect();
        let all = free.into_iter().map(|number| (number, None));
        let all = all.chain(listed.into_iter().map(|(number, share)| (number, Some(share))));
        let mut failed = None;
        for (number, share) in all {
            // A process may have ended meanwhile; the other flows go on.
            failed = self.serve(number, share).err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }

    fn progress(&mut self) -> Progress {
        if Instant::now() < self.next_look {
            return Progress::default();
        }
        let progress = self.look().unwrap_or_else(|error| {
            tracing::warn!(%error, "connections were not seen");
            Progress::default()
        });
        for (number, share) in self.waiting.clone() {
            if let Err(error) = self.serve(number, share) {
                tracing::warn!(%error, "a connection is not served as the schedule says");
            }
        }
        progress
    }

    fn sees_uses(&self) -> bool {
        true
    }

    fn heard(&mut self, _: CoordinatorEvent<'_>) {}
}

impl Drop for Attached {
    /// Leaves sockets as they were.
    fn drop(&mut self) {
        for number in self.done.keys().copied().collect::<Vec<_>>() {
            // Its process may have ended.
            let _ = self.serve(number, None);
        }
    }
}

/// Takes the rates of all sockets of `target` back, which a process that was killed may have left behind. Returns of
/// how many. The rate that a program has asked for itself is taken, too: nothing tells them apart.
///
/// # Errors
/// When the kernel does not show connections.
pub fn release(target: &Target) -> io::Result<usize> {
    let paced = Sockets::open()?.list()?.into_iter().filter(|it| it.max_pace != UNPACED);
    let files = target.sockets();
    let files = paced.filter_map(|connection| files.get(&connection.inode));
    Ok(files.filter(|file| pace(**file, UNPACED).is_ok()).count())
}
