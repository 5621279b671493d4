//! Attached connections, as an agent's [`Enforcer`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use covey_agent::{CoordinatorEvent, Enforcer, Progress};
use covey_client::mark_of;
use covey_proto::{FlowName, Service};

use crate::connection::{Connection, UNPACED};
use crate::connects::{Connects, Established};
use crate::flows::{Flows, Over};
use crate::hold::Hold;
use crate::pace::Socket;
use crate::sockets::Sockets;
use crate::target::{OpenFile, Target};

/// A look takes at most this part of a processor: where there are very many connections, looks are
/// rarer. Together with what follows from a look it is about a hundredth.
const LOAD: f64 = 0.007;
/// The same while nothing is done to any flow: then nobody waits for what a look finds.
const QUIET_LOAD: f64 = 0.001;
/// Reading which files processes have takes at most this part of the time while there are sockets
/// that are not known.
const READING: f64 = 0.05;

/// For so long after its beginning a connection is looked at more often than others, until it has
/// sent its first bytes.
const YOUNG: Duration = Duration::from_secs(1);
/// Maximum number of connections that are looked at more often than others.
const MAX_YOUNG: usize = 4096;

/// A flow with a lower rate is held, in bytes per second: a packet at such a rate would keep the
/// next one back for seconds, also after the rate has risen.
const LEAST: f64 = 16.0 * 1024.0;

/// The rate of an idle flow, in bytes per second: that of a burst of 64 KiB in 20 ms. At the rate
/// of [`Service::PROBE`] its next burst would be four seconds away, also after the flow has been
/// given a rate again, and so the flow would be idle again.
const PROBE: f64 = 50.0 * 64.0 * 1024.0;

/// The bits of an IP header's byte beside the mark.
const ECN: u32 = 3;

/// What is done to a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Done {
    /// It has a rate, in bytes per second, and its packets may have a mark.
    Paced {
        rate: f64,
        mark: Option<u32>,
    },
    Held,
}

/// Connections that are left alone.
#[derive(Debug, Clone, Default)]
pub struct Ignored {
    /// Those with one of these ports at an end.
    pub ports: BTreeSet<u16>,
    /// Those with one of these ends: the coordinator's.
    pub ends: BTreeSet<SocketAddr>,
    /// Those from and to these addresses: they do not leave the host.
    pub own: BTreeSet<IpAddr>,
}

impl Ignored {
    /// Whether a connection with this end here may be one of the host.
    fn may_be_of_host(&self, local: IpAddr) -> bool {
        self.own.is_empty() || self.own.contains(&local.to_canonical())
    }

    fn has(&self, connection: &Connection) -> bool {
        let ends = [connection.local, connection.remote];
        let is_inside = connection.local.ip() == connection.remote.ip()
            || self.own.contains(&connection.remote.ip());
        let is_ignored =
            |end: &SocketAddr| self.ports.contains(&end.port()) || self.ends.contains(end);
        ends.iter().any(is_ignored) || (!self.own.is_empty() && is_inside)
    }
}

/// The connections of processes that know nothing of Covey.
pub struct Attached {
    target: Target,
    ignored: Ignored,
    sockets: Sockets,
    flows: Flows,
    hold: Option<Hold>,
    /// Whether packets are marked with their flow's layer.
    marks: bool,
    /// The marks that programs have asked for themselves, of flows that are marked.
    own_marks: BTreeMap<u64, u32>,
    connects: Option<Connects>,
    /// Connections that began a short time ago and have sent nothing so far, with the time at which
    /// they are old.
    young: VecDeque<(Established, Instant)>,
    /// The processes' sockets, by inode.
    files: BTreeMap<u32, OpenFile>,
    /// Sockets that were none of the processes' when files were last read.
    strangers: BTreeSet<u32>,
    /// When they may be read again because of a socket that is not known.
    next_reading: Instant,
    /// What is done to flows, by their numbers.
    done: BTreeMap<u64, Done>,
    /// Flows that were to be served otherwise, and whose files were not known.
    waiting: BTreeMap<u64, Option<Service>>,
    started: Instant,
    next_look: Instant,
    next_look_at_young: Instant,
}

impl Attached {
    /// Watches the connections of `target`. `hold`: what keeps flows back that have to wait;
    /// without it nothing is done to flows. `connects`: what notes their beginnings; without it a
    /// flow is seen later, and its beginning is that of its first byte.
    ///
    /// # Errors
    /// When the kernel does not show connections.
    pub fn new(
        target: Target,
        ignored: Ignored,
        hold: Option<Hold>,
        connects: Option<Connects>,
    ) -> io::Result<Attached> {
        let now = Instant::now();
        let sockets = Sockets::open()?;
        Ok(Attached {
            target,
            ignored,
            // What is done to flows is for those that send.
            flows: Flows::new(sockets.sees_ends(), hold.is_some()),
            sockets,
            hold,
            marks: false,
            own_marks: BTreeMap::new(),
            connects,
            young: VecDeque::new(),
            files: BTreeMap::new(),
            strangers: BTreeSet::new(),
            next_reading: now,
            done: BTreeMap::new(),
            waiting: BTreeMap::new(),
            started: now,
            next_look: now,
            next_look_at_young: now,
        })
    }

    /// Marks the packets of paced flows with their layers: CS7 for the first, down to CS1.
    #[must_use]
    pub fn with_marks(mut self) -> Attached {
        self.marks = true;
        self
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
        let begin = thread_cpu();
        // First those that have ended: a connection that ends now is told of next time.
        let mut ended = self.sockets.take_ended()?;
        let mut open = self.sockets.list()?;
        if self.target != Target::Host {
            let inodes: Vec<u32> = open.iter().chain(&ended).map(|it| it.inode).collect();
            self.read_files(&inodes);
        }
        self.keep_watched(&mut open);
        self.keep_watched(&mut ended);
        let progress = self.flows.look(&open, &ended, self.now_s());
        let ended = progress.ended.iter().filter_map(|ended| ended.key.number());
        ended.for_each(|number| self.forget(number));
        let is_quiet = self.done.is_empty() && self.waiting.is_empty();
        let load = if is_quiet { QUIET_LOAD } else { LOAD };
        self.next_look = Instant::now() + (thread_cpu() - begin).div_f64(load);
        Ok(progress)
    }

    /// Keeps the connections that are watched, and notes when they began.
    fn keep_watched(&self, connections: &mut Vec<Connection>) {
        let known = self.flows.open();
        // A socket that is destroyed is no file any more.
        let is_targets = |it: &Connection| {
            self.target == Target::Host
                || known.contains_key(&it.cookie)
                || self.files.contains_key(&it.inode)
        };
        connections.retain(|it| is_targets(it) && !self.ignored.has(it));
        connections.iter_mut().for_each(|connection| self.date(connection));
    }

    /// Hears of connections that have ended: others have their rates sooner than after the next
    /// look.
    fn hear_of_ended(&mut self) -> io::Result<Progress> {
        let mut ended = self.sockets.take_ended()?;
        self.keep_watched(&mut ended);
        let progress = self.flows.have_ended(&ended, self.now_s());
        let ended = progress.ended.iter().filter_map(|ended| ended.key.number());
        ended.for_each(|number| self.forget(number));
        Ok(progress)
    }

    /// Notes when a connection began that has sent its first bytes.
    fn date(&self, connection: &mut Connection) {
        if connection.acknowledged > 0 && self.flows.is_new(connection.cookie) {
            connection.begun = self.connects.as_ref().and_then(|it| it.begun(connection.cookie));
        }
    }

    /// Looks at connections that began a short time ago. Where there are many connections, all are
    /// looked at rarely, and these would be seen late.
    fn look_at_young(&mut self) -> io::Result<Progress> {
        let (begin, now) = (thread_cpu(), Instant::now());
        let Some(connects) = &mut self.connects else { return Ok(Progress::default()) };
        while let Some(established) = connects.take_established() {
            // The notes are also of connections in other network namespaces.
            let is_here = self.ignored.may_be_of_host(established.local.ip());
            if is_here && self.young.len() < MAX_YOUNG {
                self.young.push_back((established, now + YOUNG));
            }
        }
        let mut sending = Vec::new();
        for (established, until) in std::mem::take(&mut self.young) {
            // No such connection is here: it belongs to another network namespace, or has ended.
            let Some(mut connection) = self.sockets.find(&established)? else { continue };
            if self.ignored.has(&connection) || !self.flows.is_new(connection.cookie) {
                continue;
            }
            if connection.acknowledged > 0 {
                self.date(&mut connection);
                sending.push(connection);
            } else if now < until {
                self.young.push_back((established, until));
            }
        }
        if self.target != Target::Host {
            let inodes: Vec<u32> = sending.iter().map(|it| it.inode).collect();
            self.read_files(&inodes);
            sending.retain(|it| self.files.contains_key(&it.inode));
        }
        let progress = self.flows.look_at(&sending, self.now_s());
        self.next_look_at_young = Instant::now() + (thread_cpu() - begin).div_f64(LOAD);
        Ok(progress)
    }

    /// Reads which sockets the processes have, if one of these is not known.
    fn read_files(&mut self, inodes: &[u32]) {
        let begin = Instant::now();
        let is_unknown = |inode: &u32| {
            *inode != 0 && !self.files.contains_key(inode) && !self.strangers.contains(inode)
        };
        if begin >= self.next_reading && inodes.iter().any(is_unknown) {
            self.files = self.target.sockets();
            let others = inodes.iter().filter(|inode| !self.files.contains_key(*inode));
            self.strangers = others.copied().collect();
            self.next_reading = Instant::now() + begin.elapsed().div_f64(READING);
        }
    }

    /// The socket with this inode and this cookie, if one of the processes shows it.
    fn socket(&mut self, inode: u32, cookie: u64) -> Option<Socket> {
        if let Some(file) = self.files.get(&inode) {
            match Socket::new(file, cookie) {
                Ok(socket) => return Some(socket),
                Err(error) => tracing::debug!(?file, inode, %error, "a file is another one by now"),
            }
            self.files.remove(&inode);
        }
        self.strangers.remove(&inode);
        self.read_files(&[inode]);
        Socket::new(self.files.get(&inode)?, cookie).ok()
    }

    /// A flow has ended.
    fn forget(&mut self, number: u64) {
        self.waiting.remove(&number);
        self.own_marks.remove(&number);
        if self.done.remove(&number) == Some(Done::Held) {
            self.let_go(number);
        }
    }

    /// Has a flow sent as it is served; `None`: as if it were not attached. What cannot be done is
    /// tried again at the next look. A flow is held only if it can be let go: if one of its
    /// processes shows the socket.
    fn serve(&mut self, number: u64, service: Option<Service>) {
        self.waiting.remove(&number);
        let Some(flow) = self.flows.open().get(&number).copied() else { return };
        let wanted = service.map(|service| match service.rate {
            _ if service == Service::PROBE => Done::Paced { rate: PROBE, mark: None },
            rate if rate >= LEAST => {
                Done::Paced { rate, mark: self.marks.then(|| mark_of(Some(service.layer))) }
            }
            _ => Done::Held,
        });
        let was = self.done.get(&number).copied();
        if self.hold.is_none() || was == wanted {
            return;
        }
        let was_held = was == Some(Done::Held);
        if was_held {
            // Before all else: whatever fails below, the flow goes on.
            self.let_go(number);
            self.done.remove(&number);
        }
        let Some(socket) = self.socket(flow.inode, number) else {
            self.waiting.insert(number, service);
            return;
        };
        let served = match wanted {
            Some(Done::Held) => self.hold.as_mut().map_or(Ok(()), |hold| hold.hold(number)),
            // What a program has asked for stays its limit.
            Some(Done::Paced { rate, mark }) => {
                let paced = socket.pace((rate as u64).min(flow.own_pace));
                paced.and_then(|()| self.mark(&socket, number, mark))
            }
            None => socket.pace(flow.own_pace).and_then(|()| self.mark(&socket, number, None)),
        };
        let kicked = if was_held { socket.kick() } else { Ok(()) };
        match (served.and(kicked), wanted) {
            (Err(_), _) => {
                // The process may have closed its socket, while another one has it still.
                self.files.remove(&flow.inode);
                self.waiting.insert(number, service);
            }
            (Ok(()), Some(done)) => _ = self.done.insert(number, done),
            (Ok(()), None) => _ = self.done.remove(&number),
        }
    }

    /// Marks the packets of a flow; `None`: as its program has asked for.
    fn mark(&mut self, socket: &Socket, number: u64, wanted: Option<u32>) -> io::Result<()> {
        match (wanted, self.own_marks.get(&number).copied()) {
            (Some(wanted), own) => {
                if own.is_none() {
                    self.own_marks.insert(number, socket.mark()?);
                }
                socket.set_mark(wanted)
            }
            (None, Some(own)) => {
                socket.set_mark(own)?;
                self.own_marks.remove(&number);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Lets flows go that nobody has open any more: what their processes have left is sent.
    fn let_orphans_go(&mut self) {
        let held = self.done.iter().filter(|(_, done)| **done == Done::Held);
        let is_orphan = |number: &u64| self.flows.open().get(number).is_none_or(|it| it.inode == 0);
        let orphans: Vec<u64> = held.map(|(number, _)| *number).filter(is_orphan).collect();
        for number in orphans {
            self.let_go(number);
            self.done.remove(&number);
        }
    }

    fn let_go(&mut self, number: u64) {
        if let Some(hold) = &mut self.hold {
            hold.let_go(number);
        }
    }
}

impl Enforcer for Attached {
    fn apply(&mut self, _: (u64, u64), flows: &BTreeMap<FlowName, Service>) -> io::Result<()> {
        if let Some(hold) = &mut self.hold {
            hold.renew();
        }
        let listed = flows.iter().filter_map(|(key, service)| Some((key.number()?, *service)));
        let listed: BTreeMap<u64, Service> = listed.collect();
        let others = self.done.keys().filter(|number| !listed.contains_key(number));
        let free: Vec<u64> = others.copied().collect();
        let all = free.into_iter().map(|number| (number, None));
        let all = all.chain(listed.into_iter().map(|(number, service)| (number, Some(service))));
        all.collect::<Vec<_>>()
            .into_iter()
            .for_each(|(number, service)| self.serve(number, service));
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        if let Some(hold) = &mut self.hold {
            hold.renew();
        }
        let not_seen = |error| {
            tracing::warn!(%error, "connections were not seen");
            Progress::default()
        };
        let now = Instant::now();
        if now < self.next_look {
            let mut progress = match now < self.next_look_at_young {
                true => Progress::default(),
                false => self.look_at_young().unwrap_or_else(not_seen),
            };
            let Progress { appeared, sent, ended, .. } =
                self.hear_of_ended().unwrap_or_else(not_seen);
            progress.appeared.extend(appeared);
            progress.sent.extend(sent);
            progress.ended.extend(ended);
            return Progress { has_not_looked: true, ..progress };
        }
        let progress = self.look().unwrap_or_else(not_seen);
        self.let_orphans_go();
        self.waiting.clone().into_iter().for_each(|(number, service)| self.serve(number, service));
        // Only those who observe want them.
        self.take_over();
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
        self.files.clear();
        self.next_reading = Instant::now();
        for number in self.done.keys().copied().collect::<Vec<_>>() {
            self.serve(number, None);
        }
    }
}

/// The processor time of this thread. Unlike the time on the wall it does not grow where others
/// have the processor.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Takes the rates of all sockets of `target` back, and the marks of those that have one, which a
/// process that was killed may have left behind. Returns of how many. What a program has asked for
/// itself is taken, too: nothing tells them apart.
///
/// # Errors
/// When the kernel does not show connections.
pub fn release(target: &Target) -> io::Result<usize> {
    let paced = Sockets::open()?.list()?.into_iter().filter(|it| it.max_pace != UNPACED);
    let files = target.sockets();
    let files = paced.filter_map(|it| Some((files.get(&it.inode)?, it.cookie)));
    let release = |file: &OpenFile, cookie: u64| {
        let socket = Socket::new(file, cookie)?;
        let class = socket.mark()? & !ECN;
        if (0..7).any(|layer| mark_of(Some(layer)) == class) {
            socket.set_mark(0)?;
        }
        socket.pace(UNPACED)
    };
    Ok(files.filter(|(file, cookie)| release(file, *cookie).is_ok()).count())
}
