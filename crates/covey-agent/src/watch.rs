//! How the flows of a host are used. A flow that has a rate and sends nothing loses the rate.
//!
//! A flow is *idle* if it is open and has had a rate for some time without sending a byte. That
//! time is shorter the more flows of its coflow are idle here. If no flow of the coflow sends, the
//! flows that wait are idle too: otherwise each of them would be served for nothing, one after the
//! other. A flow is *closed* if the application that had it open is gone. A coflow is *unopened*
//! here if one of its flows has had a rate for as long and no application has opened it, or if one
//! was closed: then no application is known that would open its other flows, and each of them
//! counts as unused until one does. All of this is taken back as soon as a flow sends or is opened.

use std::collections::{BTreeMap, BTreeSet};

use covey_proto::{FlowName, Service, Use, Uses};

/// Bytes that a flow may give to its socket at once. A slow flow is silent for the time that these
/// take.
const SLICE: f64 = 32.0 * 1024.0;
/// The same for a flow that no application has named. The kernel sends up to 64 KiB of it at once,
/// whatever its rate, and another time as many may be on their way already.
const BURST: f64 = 128.0 * 1024.0;
/// How often idle flows are looked for during the time after which a flow is idle.
const LOOKS: f64 = 8.0;

/// A flow that has a rate.
#[derive(Debug, Clone, Copy)]
struct Served {
    /// Bytes per second.
    rate: f64,
    /// When the flow got a rate, or sent last.
    since_s: f64,
}

/// How the flows of a host are used.
#[derive(Debug)]
pub struct Watch {
    /// After this time without a byte a flow is idle. Infinite: the coordinator does not ask.
    idle_after_s: f64,
    now_s: f64,
    next_look_s: f64,
    served: BTreeMap<FlowName, Served>,
    /// Flows that an application has open.
    open: BTreeSet<FlowName>,
    /// Flows that are idle or closed.
    unused: BTreeMap<FlowName, Use>,
    unopened: BTreeSet<u64>,
    /// Changes that have not been reported.
    news: Uses,
}

impl Default for Watch {
    /// Without a coordinator that asks.
    fn default() -> Watch {
        Watch {
            idle_after_s: f64::INFINITY,
            now_s: 0.0,
            next_look_s: 0.0,
            served: BTreeMap::new(),
            open: BTreeSet::new(),
            unused: BTreeMap::new(),
            unopened: BTreeSet::new(),
            news: Uses::default(),
        }
    }
}

impl Watch {
    /// A coordinator asks for flows that have sent nothing for so many seconds; infinite: it does
    /// not ask. It is to be told everything that is known.
    pub fn asked(&mut self, idle_after_s: f64) {
        self.idle_after_s = idle_after_s;
        self.next_look_s = self.now_s;
        if idle_after_s.is_infinite() {
            self.unused.clear();
            self.unopened.clear();
        }
        self.news = Uses { all: true, ..Uses::default() };
        self.news.flows.extend(self.unused.iter().map(|(key, of)| (*key, *of)));
        for coflow in self.unopened.clone() {
            self.tell_unopened(coflow);
        }
    }

    /// Replaces the flows that have a rate.
    pub fn served(&mut self, flows: &BTreeMap<FlowName, Service>) {
        let mut before = std::mem::take(&mut self.served);
        for (&key, service) in flows.iter().filter(|(_, service)| service.rate > 0.0) {
            let since_s = before.remove(&key).map_or(self.now_s, |served| served.since_s);
            self.served.insert(key, Served { rate: service.rate, since_s });
        }
    }

    /// An application has opened a flow.
    pub fn opened(&mut self, key: FlowName) {
        self.open.insert(key);
        self.note_activity(key);
        if self.unused.remove(&key).is_some() || self.is_unopened(key) {
            self.news.flows.push((key, Use::Moves));
        }
    }

    /// The application that had a flow open is gone.
    pub fn closed(&mut self, key: FlowName) {
        if self.open.remove(&key) && self.idle_after_s.is_finite() {
            self.set(key, Use::Closed);
            key.coflow().into_iter().for_each(|coflow| self.mark_unopened(coflow));
        }
    }

    /// A flow has sent something.
    pub fn sent(&mut self, key: FlowName) {
        self.note_activity(key);
        if self.unused.get(&key) == Some(&Use::Idle) {
            self.unused.remove(&key);
            self.news.flows.push((key, Use::Moves));
        }
    }

    /// A flow needs no rate any more: it has ended, or its last bytes are on their way.
    pub fn done(&mut self, key: FlowName, has_ended: bool) {
        self.served.remove(&key);
        if has_ended {
            self.open.remove(&key);
            self.unused.remove(&key);
        }
    }

    /// A flow has changed its coflow.
    pub fn rename(&mut self, from: FlowName, to: FlowName) {
        if let Some(served) = self.served.remove(&from) {
            self.served.insert(to, served);
        }
        if let Some(of) = self.unused.remove(&from) {
            self.unused.insert(to, of);
        }
        // The coordinator may have been told that no other flow of the new coflow is open here.
        if self.open.remove(&from)
            && self.open.insert(to)
            && self.is_unopened(to)
            && !self.unused.contains_key(&to)
        {
            self.news.flows.push((to, Use::Moves));
        }
    }

    /// A coflow is over and no longer reported.
    pub fn over(&mut self, coflow: u64) {
        self.unopened.remove(&coflow);
        self.unused.retain(|name, _| name.coflow() != Some(coflow));
    }

    /// Time passes to `now_s`. What flows have sent since they were last looked at is not known.
    pub fn pass(&mut self, now_s: f64) {
        let every_s = self.idle_after_s / LOOKS;
        let pause_s = now_s - self.now_s;
        self.now_s = now_s;
        if pause_s > 2.0 * every_s {
            // This process did not run for a while, and does not know yet what flows did.
            self.served.values_mut().for_each(|served| served.since_s = now_s);
        }
    }

    /// Looks for idle flows at `now_s`, after all that happened until then has been reported here.
    pub fn look(&mut self, now_s: f64) {
        self.pass(now_s);
        let every_s = self.idle_after_s / LOOKS;
        if now_s < self.next_look_s {
            return;
        }
        self.next_look_s = now_s + every_s;
        let mut due: Vec<FlowName> = Vec::new();
        for (&key, served) in &self.served {
            let of_coflow = key.coflow().map(|coflow| self.unused.range(FlowName::all_of(coflow)));
            let idle = of_coflow.into_iter().flatten().count() as f64;
            let patience_s = (self.idle_after_s / (1.0 + idle)).max(every_s);
            let at_once = if key.number().is_some() { BURST } else { SLICE };
            let is_due = now_s - served.since_s >= patience_s.max(at_once / served.rate);
            if is_due && !self.unused.contains_key(&key) {
                due.push(key);
            }
        }
        for &key in &due {
            if self.open.contains(&key) {
                self.set(key, Use::Idle);
            } else if let Some(coflow) = key.coflow() {
                self.mark_unopened(coflow);
            }
        }
        let mut coflows: Vec<u64> = due.into_iter().filter_map(FlowName::coflow).collect();
        coflows.dedup();
        coflows.into_iter().for_each(|coflow| self.idle_with_coflow(coflow));
    }

    /// Makes the waiting flows of a coflow idle if no flow of it sends.
    fn idle_with_coflow(&mut self, coflow: u64) {
        let sends = |key: &FlowName| self.open.contains(key) && !self.unused.contains_key(key);
        if self.served.range(FlowName::all_of(coflow)).any(|(key, _)| sends(key)) {
            return;
        }
        let wait =
            self.open.range(FlowName::all_of(coflow)).filter(|key| !self.unused.contains_key(key));
        for key in wait.copied().collect::<Vec<_>>() {
            self.set(key, Use::Idle);
        }
    }

    /// Takes the changes to report, if there are any.
    pub fn take_news(&mut self) -> Option<Uses> {
        let has_news = self.idle_after_s.is_finite() && self.news != Uses::default();
        let news = std::mem::take(&mut self.news);
        has_news.then_some(news)
    }

    /// Coflows with flows that applications have open.
    pub fn kept(&self) -> Vec<u64> {
        let mut coflows: Vec<u64> = self.open.iter().filter_map(|name| name.coflow()).collect();
        coflows.dedup();
        coflows
    }

    /// Whether a flow is idle, or the application that had it open is gone.
    pub fn is_unused(&self, key: FlowName) -> bool {
        self.unused.contains_key(&key)
    }

    /// Flows that are open and idle.
    pub fn idle(&self) -> impl Iterator<Item = FlowName> {
        self.unused.iter().filter(|(_, of)| **of == Use::Idle).map(|(key, _)| *key)
    }

    /// Whether no application is known that would open the rest of a flow's coflow.
    fn is_unopened(&self, name: FlowName) -> bool {
        name.coflow().is_some_and(|coflow| self.unopened.contains(&coflow))
    }

    fn note_activity(&mut self, key: FlowName) {
        if let Some(served) = self.served.get_mut(&key) {
            served.since_s = self.now_s;
        }
    }

    fn set(&mut self, key: FlowName, of: Use) {
        self.unused.insert(key, of);
        self.news.flows.push((key, of));
    }

    /// No application is known that would open the rest of a coflow.
    fn mark_unopened(&mut self, coflow: u64) {
        if self.unopened.insert(coflow) {
            self.tell_unopened(coflow);
        }
    }

    fn tell_unopened(&mut self, coflow: u64) {
        self.news.unopened.push(coflow);
        let moving =
            self.open.range(FlowName::all_of(coflow)).filter(|key| !self.unused.contains_key(key));
        self.news.flows.extend(moving.map(|key| (*key, Use::Moves)));
    }
}

#[cfg(test)]
mod tests {
    use covey_proto::FlowKey;

    use super::*;

    const A: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 0 });
    const B: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 1 });
    const C: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 2 });

    fn at_rate(rate: f64, keys: &[FlowName]) -> BTreeMap<FlowName, Service> {
        keys.iter().map(|key| (*key, Service { layer: 0, rate, codec: None })).collect()
    }

    /// A watch that calls flows idle after a second, of a coflow with two flows that have a rate.
    fn watch(open: &[FlowName]) -> Watch {
        let mut watch = Watch::default();
        watch.look(0.0);
        watch.asked(1.0);
        watch.take_news();
        watch.served(&at_rate(1e6, &[A, B]));
        open.iter().for_each(|key| watch.opened(*key));
        watch
    }

    /// Lets time pass in which these flows send.
    fn pass(watch: &mut Watch, seconds: f64, sending: &[FlowName]) -> Option<Uses> {
        let until_s = watch.now_s + seconds;
        while watch.now_s < until_s {
            sending.iter().for_each(|key| watch.sent(*key));
            watch.look(watch.now_s + 0.05);
        }
        watch.take_news()
    }

    fn flows(of: &[(FlowName, Use)]) -> Option<Uses> {
        Some(Uses { flows: of.to_vec(), ..Uses::default() })
    }

    #[test]
    fn a_flow_with_a_rate_that_sends_nothing_is_idle() {
        let mut watch = watch(&[A, B]);
        assert_eq!(pass(&mut watch, 0.9, &[A]), None);
        assert_eq!(pass(&mut watch, 0.3, &[A]), flows(&[(B, Use::Idle)]));
        assert_eq!(watch.idle().collect::<Vec<_>>(), [B]);
        // A change is reported once.
        assert_eq!(pass(&mut watch, 5.0, &[A]), None);
        watch.sent(B);
        assert_eq!(watch.take_news(), flows(&[(B, Use::Moves)]));
        assert_eq!(watch.idle().next(), None);
        // A flow that waits has no rate, and is not idle.
        watch.served(&at_rate(1e6, &[A]));
        assert_eq!(pass(&mut watch, 5.0, &[A]), None);
    }

    #[test]
    fn flows_that_wait_are_idle_with_those_that_do_not_send() {
        let mut watch = watch(&[A, B]);
        watch.served(&at_rate(1e6, &[A]));
        assert_eq!(pass(&mut watch, 1.2, &[]), flows(&[(A, Use::Idle), (B, Use::Idle)]));
        // While one flow sends, nothing is known of the flows that wait.
        watch.sent(A);
        watch.sent(B);
        watch.served(&at_rate(1e6, &[A, C]));
        watch.opened(C);
        watch.take_news();
        assert_eq!(pass(&mut watch, 1.2, &[C]), flows(&[(A, Use::Idle)]));
        // The next silent flow is idle after a shorter time.
        watch.served(&at_rate(1e6, &[B, C]));
        assert_eq!(pass(&mut watch, 0.4, &[C]), None);
        assert_eq!(pass(&mut watch, 0.3, &[C]), flows(&[(B, Use::Idle)]));
    }

    #[test]
    fn a_slow_flow_may_be_silent_for_longer() {
        let mut watch = watch(&[A]);
        watch.served(&at_rate(SLICE / 4.0, &[A]));
        assert_eq!(pass(&mut watch, 3.8, &[]), None);
        assert_eq!(pass(&mut watch, 0.5, &[]), flows(&[(A, Use::Idle)]));
    }

    #[test]
    fn a_coflow_is_unopened_but_for_the_flows_that_are_open() {
        let mut watch = watch(&[A]);
        let uses = Uses { flows: vec![(A, Use::Moves)], unopened: vec![1], all: false };
        assert_eq!(pass(&mut watch, 1.2, &[A]), Some(uses));
        assert_eq!(pass(&mut watch, 5.0, &[A]), None);
        watch.opened(B);
        assert_eq!(watch.take_news(), flows(&[(B, Use::Moves)]));
    }

    #[test]
    fn flows_go_with_their_application_at_once_and_come_back_with_the_next() {
        let mut watch = watch(&[A]);
        watch.closed(A);
        let uses = Uses { flows: vec![(A, Use::Closed)], unopened: vec![1], all: false };
        assert_eq!(watch.take_news(), Some(uses));
        // A coordinator that asks again is told again.
        watch.asked(1.0);
        let uses = Uses { flows: vec![(A, Use::Closed)], unopened: vec![1], all: true };
        assert_eq!(watch.take_news(), Some(uses));
        watch.opened(A);
        assert_eq!(watch.take_news(), flows(&[(A, Use::Moves)]));
        watch.asked(1.0);
        let uses = Uses { flows: vec![(A, Use::Moves)], unopened: vec![1], all: true };
        assert_eq!(watch.take_news(), Some(uses));
        watch.over(1);
        watch.asked(1.0);
        assert_eq!(watch.take_news(), Some(Uses { all: true, ..Uses::default() }));
    }

    #[test]
    fn what_has_ended_is_neither_idle_nor_closed() {
        let mut watch = watch(&[A, B]);
        watch.done(A, true);
        watch.done(B, false);
        assert_eq!(pass(&mut watch, 5.0, &[]), None);
        watch.closed(A);
        assert_eq!(watch.take_news(), None);
        // B has not ended: its last bytes may not have arrived.
        watch.closed(B);
        assert!(watch.take_news().is_some());
    }

    #[test]
    fn after_a_pause_flows_have_time_to_be_heard_of() {
        let mut watch = watch(&[A, B]);
        pass(&mut watch, 0.5, &[A, B]);
        watch.look(watch.now_s + 30.0);
        assert_eq!(watch.take_news(), None);
        assert_eq!(pass(&mut watch, 0.9, &[]), None);
        assert!(pass(&mut watch, 0.3, &[]).is_some());
    }

    #[test]
    fn a_coordinator_that_does_not_ask_is_told_nothing() {
        let mut watch = watch(&[A]);
        watch.asked(f64::INFINITY);
        assert_eq!(pass(&mut watch, 5.0, &[]), None);
        watch.closed(A);
        assert_eq!(watch.take_news(), None);
        assert_eq!(watch.idle().next(), None);
    }

    #[test]
    fn a_number_is_no_coflow() {
        let mut watch = watch(&[A, B]);
        let number = FlowName::Number(1);
        watch.opened(number);
        watch.closed(number);
        assert_eq!(watch.take_news(), flows(&[(number, Use::Closed)]));
        watch.over(1);
        assert!(watch.is_unused(number));
        assert_eq!(watch.kept(), [1]);
    }
}
