//! What a policy waits for: times, and numbers of bytes that are sent.
//!
//! Wake-ups are kept by whose bytes count: those of a coflow in all, of a coflow through one link,
//! or of a DAG. So a driver looks only at coflows of which something is sent, and at wake-ups that
//! were asked for since it last looked.

use crate::sets::sorted::Sorted;
use crate::values::ids::{CoflowId, LinkId};
use crate::values::optional_index::OptionalIndex;
use crate::values::time::Time;

/// What a policy waits for: it is told when this has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wake {
    /// At a time.
    At(Time),
    /// When the coflow has sent this many bytes in all.
    WhenSent(CoflowId, f64),
    /// When the coflows of the DAG with this external id have sent this many bytes together, those
    /// that have ended included.
    WhenDagSent(u64, f64),
    /// When any flow of the coflow has sent this many bytes.
    WhenFlowSent(CoflowId, f64),
    /// When this many bytes of the coflow have passed the link.
    WhenPassed(CoflowId, LinkId, f64),
}

/// Whose bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// One coflow.
    Coflow(CoflowId),
    /// One coflow, through a link.
    CoflowAt(CoflowId, LinkId),
    /// All coflows of the DAG with this external id.
    Dag(u64),
}

impl Wake {
    /// The number of bytes; `None` for a time.
    pub fn bytes(&self) -> Option<f64> {
        match *self {
            Wake::At(_) => None,
            Wake::WhenSent(_, bytes)
            | Wake::WhenFlowSent(_, bytes)
            | Wake::WhenPassed(_, _, bytes)
            | Wake::WhenDagSent(_, bytes) => Some(bytes),
        }
    }

    /// Whose bytes count; `None` for a time.
    pub fn sender(&self) -> Option<Sender> {
        match *self {
            Wake::At(_) => None,
            Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) => Some(Sender::Coflow(id)),
            Wake::WhenPassed(id, link, _) => Some(Sender::CoflowAt(id, link)),
            Wake::WhenDagSent(external, _) => Some(Sender::Dag(external)),
        }
    }
}

/// The number of a wake-up for bytes, from 0 on. Another one gets it once that has come or is not
/// waited for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WakeId(pub u32);

impl WakeId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Stands for the serial number of a vacant entry.
const VACANT: u64 = 0;

/// A wake-up, and when it was asked for, as a serial number.
#[derive(Debug, Clone, Copy)]
struct Asked {
    wake: Wake,
    serial: u64,
    /// Index of the next wake-up of the same sender, or of the next vacant entry.
    next: OptionalIndex,
}

/// Wake-ups that were asked for and have not come.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// Wake-ups at times, each with its serial number, which ascends.
    times: Vec<(u64, Time)>,
    /// By [`WakeId`], wake-ups for bytes, in linked lists: one for each sender, and of vacant
    /// entries.
    asked: Vec<Asked>,
    /// For each sender, the index in `asked` of the wake-up that was asked for last: the list
    /// begins there.
    of_coflow: Vec<OptionalIndex>,
    of_coflow_at: Sorted<(CoflowId, LinkId), u32>,
    of_dag: Sorted<u64, u32>,
    /// Where the list of vacant entries begins.
    vacant: OptionalIndex,
    /// Number of wake-ups for bytes of coflows, in all or through a link.
    of_coflows: usize,
    /// Number of those that are for bytes of a flow.
    of_flows: usize,
    /// The last serial number.
    serial: u64,
    /// Wake-ups for bytes that the policy has asked for since a driver last looked.
    fresh: Vec<WakeId>,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes {
            times: Vec::new(),
            asked: Vec::new(),
            of_coflow: Vec::new(),
            of_coflow_at: Sorted::default(),
            of_dag: Sorted::default(),
            vacant: OptionalIndex::NONE,
            of_coflows: 0,
            of_flows: 0,
            serial: 0,
            fresh: Vec::new(),
        }
    }
}

/// The same wake-ups, asked for in the same order.
impl PartialEq for Wakes {
    fn eq(&self, other: &Wakes) -> bool {
        self.all() == other.all()
    }
}

impl Wakes {
    pub(crate) fn ask(&mut self, wake: Wake) {
        self.serial += 1;
        let serial = self.serial;
        let Some(sender) = wake.sender() else {
            if let Wake::At(time) = wake {
                self.times.push((serial, time));
            }
            return;
        };
        let asked = Asked { wake, serial, next: self.first_of(sender).into() };
        let place = match self.vacant.get() {
            None => {
                self.asked.push(asked);
                self.asked.len() as u32 - 1
            }
            Some(place) => {
                let there = &mut self.asked[place as usize];
                self.vacant = std::mem::replace(there, asked).next;
                place
            }
        };
        self.set_first(sender, OptionalIndex::some(place));
        self.of_coflows += usize::from(!matches!(sender, Sender::Dag(_)));
        self.of_flows += usize::from(matches!(wake, Wake::WhenFlowSent(..)));
        self.fresh.push(WakeId(place));
    }

    /// Asks for a wake-up for bytes, which replaces all others of the same sender.
    pub(crate) fn ask_instead(&mut self, wake: Wake) {
        let Some(sender) = wake.sender() else { return };
        let same_kind = std::mem::discriminant(&wake);
        let only = self.first_of(sender).filter(|&place| {
            let there = &self.asked[place as usize];
            there.next.get().is_none() && std::mem::discriminant(&there.wake) == same_kind
        });
        let Some(place) = only else {
            self.clear_list(sender);
            return self.ask(wake);
        };
        self.serial += 1;
        self.asked[place as usize] = Asked { wake, serial: self.serial, next: OptionalIndex::NONE };
        self.fresh.push(WakeId(place));
    }

    pub(crate) fn clear(&mut self) {
        self.times.clear();
        self.asked.clear();
        self.of_coflow.fill(OptionalIndex::NONE);
        self.of_coflow_at.clear();
        self.of_dag.clear();
        self.vacant = OptionalIndex::NONE;
        self.of_coflows = 0;
        self.of_flows = 0;
        self.fresh.clear();
    }

    /// Asks for these wake-ups, and forgets all others.
    pub(crate) fn replace(&mut self, wakes: &[Wake]) {
        self.clear();
        wakes.iter().for_each(|&wake| self.ask(wake));
    }

    pub(crate) fn clear_times(&mut self) {
        self.times.clear();
    }

    /// Forgets the wake-ups for bytes of a sender; for a coflow, also those for its bytes through
    /// links.
    pub(crate) fn clear_of(&mut self, sender: Sender) {
        self.clear_list(sender);
        if let Sender::Coflow(id) = sender {
            let first_at = |wakes: &Wakes| wakes.of_coflow_at.from((id, LinkId(0))).next().copied();
            while let Some(((_, link), _)) = first_at(self).filter(|((other, _), _)| *other == id) {
                self.clear_list(Sender::CoflowAt(id, link));
            }
        }
    }

    /// Removes all wake-ups of a sender.
    fn clear_list(&mut self, sender: Sender) {
        let mut next = self.first_of(sender);
        if next.is_some() {
            self.set_first(sender, OptionalIndex::NONE);
        }
        while let Some(place) = next {
            next = self.asked[place as usize].next.get();
            self.vacate(place);
        }
    }

    /// Adds an entry to the vacant ones. It must be in no sender's list any more.
    fn vacate(&mut self, place: u32) {
        let there = &mut self.asked[place as usize];
        there.serial = VACANT;
        there.next = std::mem::replace(&mut self.vacant, OptionalIndex::some(place));
        self.of_coflows -= usize::from(!matches!(there.wake, Wake::WhenDagSent(..)));
        self.of_flows -= usize::from(matches!(there.wake, Wake::WhenFlowSent(..)));
    }

    /// Where the list of a sender begins, as an index in `asked`.
    fn first_of(&self, sender: Sender) -> Option<u32> {
        let first = match sender {
            Sender::Coflow(id) => return self.of_coflow.get(id.index())?.get(),
            Sender::CoflowAt(id, link) => self.of_coflow_at.get(&(id, link)),
            Sender::Dag(external) => self.of_dag.get(&external),
        };
        first.copied()
    }

    /// Lets the list of a sender begin at `place`, an index in `asked`. Without a place the list is
    /// empty: links and DAGs then leave their tables, so a table is empty if the policy waits for
    /// nothing there.
    fn set_first(&mut self, sender: Sender, place: OptionalIndex) {
        match (sender, place.get()) {
            (Sender::Coflow(id), _) => {
                if self.of_coflow.len() <= id.index() {
                    self.of_coflow.resize(id.index() + 1, OptionalIndex::NONE);
                }
                self.of_coflow[id.index()] = place;
            }
            (Sender::CoflowAt(id, link), None) => _ = self.of_coflow_at.remove(&(id, link)),
            (Sender::CoflowAt(id, link), Some(place)) => {
                self.of_coflow_at.insert((id, link), place);
            }
            (Sender::Dag(external), None) => _ = self.of_dag.remove(&external),
            (Sender::Dag(external), Some(place)) => _ = self.of_dag.insert(external, place),
        }
    }

    fn list(&self, sender: Sender) -> impl Iterator<Item = &Asked> {
        self.ids_of(sender).map(|id| &self.asked[id.index()])
    }

    /// The numbers of the wake-ups for the bytes of a sender, last asked for first.
    pub fn ids_of(&self, sender: Sender) -> impl Iterator<Item = WakeId> {
        let next = |id: &WakeId| self.asked[id.index()].next.get().map(WakeId);
        std::iter::successors(self.first_of(sender).map(WakeId), next)
    }

    /// The wake-ups for the bytes of a sender, last asked for first.
    pub fn of(&self, sender: Sender) -> impl Iterator<Item = Wake> {
        self.list(sender).map(|asked| asked.wake)
    }

    /// The wake-up with a number, unless it has come or is not waited for any more.
    pub fn at(&self, id: WakeId) -> Option<Wake> {
        let asked = self.asked.get(id.index()).filter(|asked| asked.serial != VACANT)?;
        Some(asked.wake)
    }

    /// The times, in the order in which they were asked for.
    pub fn times(&self) -> impl Iterator<Item = Time> {
        self.times.iter().map(|&(_, time)| time)
    }

    /// Whether any are for bytes.
    pub fn wait_for_bytes(&self) -> bool {
        self.wait_for_coflows() || self.wait_for_dags()
    }

    /// Whether any are for bytes of coflows, in all or through a link.
    pub fn wait_for_coflows(&self) -> bool {
        self.of_coflows > 0
    }

    /// Whether any are for bytes of coflows through a link.
    pub fn wait_at_links(&self) -> bool {
        !self.of_coflow_at.is_empty()
    }

    /// Whether any are for bytes of a flow.
    pub fn wait_for_flows(&self) -> bool {
        self.of_flows > 0
    }

    /// Whether any are for bytes of DAGs.
    pub fn wait_for_dags(&self) -> bool {
        !self.of_dag.is_empty()
    }

    /// All senders for whose bytes any may wait.
    pub fn senders(&self) -> impl Iterator<Item = Sender> {
        let coflows = (0..self.of_coflow.len() as u32).map(|id| Sender::Coflow(CoflowId(id)));
        let at_links = self.of_coflow_at.iter().map(|&((id, link), _)| Sender::CoflowAt(id, link));
        coflows
            .chain(at_links)
            .chain(self.of_dag.iter().map(|&(external, _)| Sender::Dag(external)))
    }

    /// All of them, in the order in which they were asked for.
    pub fn all(&self) -> Vec<Wake> {
        let times = self.times.iter().map(|&(serial, time)| (serial, Wake::At(time)));
        self.in_order(self.senders(), times)
    }

    /// The wake-ups for what some `senders` send, in the order in which they were asked for.
    pub fn of_all(&self, senders: impl Iterator<Item = Sender>) -> Vec<Wake> {
        self.in_order(senders, std::iter::empty())
    }

    fn in_order(
        &self,
        senders: impl Iterator<Item = Sender>,
        times: impl Iterator<Item = (u64, Wake)>,
    ) -> Vec<Wake> {
        let asked = senders.flat_map(|sender| self.list(sender));
        let mut all: Vec<_> = asked.map(|asked| (asked.serial, asked.wake)).chain(times).collect();
        all.sort_unstable_by_key(|&(serial, _)| serial);
        all.into_iter().map(|(_, wake)| wake).collect()
    }

    /// For drivers: the wake-ups for bytes that the policy has asked for since this was last
    /// called. The bytes may have been sent already. Some may not be waited for any more, and some
    /// occur twice.
    pub fn take_fresh(&mut self) -> std::vec::Drain<'_, WakeId> {
        self.fresh.drain(..)
    }

    /// For drivers: removes the wake-ups that have come: times, and those for bytes that are
    /// `reached`, some of which may occur twice. Makes `come` their list, with serial numbers, in
    /// the order in which they were asked for.
    pub fn take_due(&mut self, now: Time, reached: &[WakeId], come: &mut Vec<(u64, Wake)>) {
        come.clear();
        self.times.retain(|&(serial, time)| {
            if time.due(now) {
                come.push((serial, Wake::At(time)));
            }
            !time.due(now)
        });
        for id in reached {
            let Some(wake) = self.at(*id) else { continue };
            let serial = self.asked[id.index()].serial;
            come.push((serial, wake));
            wake.sender().into_iter().for_each(|sender| self.remove(sender, serial));
        }
        come.sort_unstable_by_key(|&(serial, _)| serial);
    }

    /// For drivers: removes the first wake-up that equals this one. Returns whether there was one.
    pub fn take(&mut self, wake: Wake) -> bool {
        let Some(sender) = wake.sender() else {
            let place = self.times.iter().position(|&(_, time)| Wake::At(time) == wake);
            return place.map(|place| self.times.remove(place)).is_some();
        };
        let same = self.list(sender).filter(|asked| asked.wake == wake);
        let Some(first) = same.map(|asked| asked.serial).min() else { return false };
        self.remove(sender, first);
        true
    }

    /// Removes one wake-up of a sender.
    fn remove(&mut self, sender: Sender, serial: u64) {
        let (mut before, mut next) = (None, self.first_of(sender));
        while let Some(place) = next {
            let asked = self.asked[place as usize];
            if asked.serial == serial {
                match before {
                    None => self.set_first(sender, asked.next),
                    Some(before) => self.asked[before as usize].next = asked.next,
                }
                return self.vacate(place);
            }
            (before, next) = (Some(place), asked.next.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow obvious one: a list in the order in which they were asked for.
    #[test]
    fn wake_ups_are_those_of_a_plain_list() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut wakes, mut list) = (Wakes::default(), Vec::<Wake>::new());
        for _ in 0..20_000 {
            let (id, bytes) = (CoflowId(random(5) as u32), random(4) as f64);
            let wake = match random(5) {
                0 => Wake::At(Time::from_secs(bytes)),
                1 => Wake::WhenSent(id, bytes),
                2 => Wake::WhenFlowSent(id, bytes),
                3 => Wake::WhenPassed(id, LinkId(random(2) as u32), bytes),
                _ => Wake::WhenDagSent(u64::from(id.0), bytes),
            };
            match random(40) {
                0 => {
                    wakes.clear();
                    list.clear();
                }
                1 => {
                    wakes.clear_times();
                    list.retain(|wake| wake.sender().is_some());
                }
                2..8 => {
                    let sender = wake.sender().unwrap_or(Sender::Coflow(id));
                    wakes.clear_of(sender);
                    list.retain(|wake| match (wake, sender) {
                        (Wake::WhenPassed(other, ..), Sender::Coflow(id)) => *other != id,
                        _ => wake.sender() != Some(sender),
                    });
                }
                8..14 => {
                    let place = list.iter().position(|other| *other == wake);
                    assert_eq!(wakes.take(wake), place.is_some());
                    place.map(|place| list.remove(place));
                }
                14..18 => {
                    let sender = wake.sender().unwrap_or(Sender::Coflow(id));
                    let now = Time::from_secs(bytes);
                    let due = |wake: &Wake| match *wake {
                        Wake::At(time) => time.due(now),
                        Wake::WhenSent(_, x) | Wake::WhenFlowSent(_, x) => x <= bytes,
                        Wake::WhenDagSent(_, x) | Wake::WhenPassed(.., x) => x <= bytes,
                    };
                    let mut come = Vec::new();
                    let ids = wakes.ids_of(sender);
                    let mut reached: Vec<_> =
                        ids.filter(|&id| wakes.at(id).is_some_and(|wake| due(&wake))).collect();
                    reached.extend(reached.clone());
                    wakes.take_due(now, &reached, &mut come);
                    let goes = |wake: &Wake| {
                        wake.sender().is_none_or(|other| other == sender) && due(wake)
                    };
                    let come = come.iter().map(|(_, wake)| wake);
                    assert!(come.eq(list.iter().filter(|wake| goes(wake))));
                    list.retain(|wake| !goes(wake));
                }
                18..22 if wake.sender().is_some() => {
                    wakes.ask_instead(wake);
                    list.retain(|other| other.sender() != wake.sender());
                    list.push(wake);
                    let last = wakes.take_fresh().next_back().unwrap();
                    assert_eq!(wakes.at(last), Some(wake));
                }
                _ => {
                    wakes.ask(wake);
                    list.push(wake);
                    let last = wakes.take_fresh().next_back();
                    assert_eq!(
                        last.and_then(|id| wakes.at(id)),
                        wake.sender().is_some().then_some(wake)
                    );
                }
            }
            assert_eq!(wakes.all(), list);
            let bytes = list.iter().filter(|wake| wake.sender().is_some()).count();
            assert_eq!(wakes.wait_for_bytes(), bytes > 0);
            let of_a_flow = |wake: &Wake| matches!(wake, Wake::WhenFlowSent(..));
            assert_eq!(wakes.wait_for_flows(), list.iter().any(of_a_flow));
            for sender in [Sender::Coflow(id), Sender::CoflowAt(id, LinkId(1))] {
                let count = list.iter().filter(|wake| wake.sender() == Some(sender)).count();
                assert_eq!(wakes.of(sender).count(), count);
                assert!(wakes.of(sender).map(Some).eq(wakes.ids_of(sender).map(|id| wakes.at(id))));
            }
        }
    }
}
