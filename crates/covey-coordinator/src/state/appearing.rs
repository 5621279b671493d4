//! Flows that no application has named: agents report them, and the policy puts them into groups of
//! its own.
//!
//! A flow that has appeared belongs to nothing until the policy's next round. From then on its
//! group is a coflow like any other here, but for the journal, which hears of neither. Nobody holds
//! a flow before its agent is told that it is taken.

use std::net::IpAddr;

use covey_api::{FlowEnds, Problem};
use covey_core::state::{FlowSpec, Newcomer};
use covey_core::{CoflowId, Observed, PortId, Time};
use covey_proto::{Appearance, Appeared, Ended, FlowId, FlowKey, FlowName};

use super::announced::AnnouncedFlow;
use super::coordinator::CoordinatorState;
use super::flows::{Flow, Stage};
use crate::driver::Regrouped;
use crate::request::Client;

/// The size of a flow of which nobody knows how long it is: more than any sends, and bytes of it
/// are still exact.
const ENDLESS: f64 = (1_u64 << 50) as f64;

/// A flow that is older counts as so old, in seconds.
const MAX_AGE_S: f64 = 86_400.0;

impl CoordinatorState {
    /// The addresses of an agent's host. Flows to them that have been waiting for a host appear
    /// now.
    pub(super) fn addresses(&mut self, port: u32, addresses: &[IpAddr]) {
        self.announced.disclaim(port);
        let mut appeared = Vec::new();
        for &address in addresses {
            // An address is its first claimant's, until that one is lost.
            let is_taken = |of: u32| of != port && !self.agents.get(of).is_away;
            if !self.announced.host(address).is_some_and(is_taken) {
                appeared.append(&mut self.announced.claim(address, port));
            }
        }
        // Flows from a host to itself do not leave the host.
        appeared.retain(|(from, ..)| *from != port);
        let start = |(from, appearance, start): &(u32, Appearance, Time)| {
            self.announced.insert(*from, port, appearance, *start, self.now)
        };
        let ids: Vec<FlowId> = appeared.iter().map(start).collect();
        self.appear(&ids);
    }

    /// An agent reports flows that no application has named.
    pub(super) fn appeared(&mut self, port: u32, appeared: &Appeared) {
        if self.driver.sees_coflows() {
            return;
        }
        if let Some((first, last)) = appeared.all_in {
            // An agent that joins again has let all of these go, and holds no share of them.
            self.agents.resync(port);
            let mut gone = self.announced.numbers(port, first..=last);
            appeared.flows.iter().for_each(|flow| _ = gone.remove(&flow.number));
            gone.into_iter().for_each(|number| self.end_number(port, number));
        }
        let mut new = Vec::new();
        for appearance in &appeared.flows {
            let number = appearance.number;
            if self.announced.knows(port, appearance) {
                self.say_taken(port, number);
                continue;
            }
            // Its number was that of another flow, whose end has not been reported.
            self.end_number(port, number);
            // The flow may have begun before this coordinator's clock did.
            let start = Time::from_secs(self.now.as_secs() - appearance.age_s.min(MAX_AGE_S));
            if self.announced.len() >= self.config.max_flows {
                self.agents.get_mut(port).letters.released.push(number);
                self.agents.wake(port);
            } else if let Some(dst) =
                self.announced.host(appearance.to.ip()).filter(|to| *to != port)
            {
                new.push(self.announced.insert(port, dst, appearance, start, self.now));
            } else {
                self.announced.note_elsewhere(port, *appearance, start);
            }
        }
        self.appear(&new);
        self.tell_ends();
    }

    /// A client knows that flows belong to a community. To the policy a flow that has appeared
    /// without one is another flow from now on.
    pub(super) fn tell_community(
        &mut self,
        client: &Client,
        community: u32,
        flows: &[FlowEnds],
    ) -> Result<(), Problem> {
        if self.driver.sees_coflows() {
            let detail = "the policy in force does not find coflows: applications register them";
            return Err(Problem::new(409, "no policy asks for communities", detail));
        }
        let max = self.config.max_flows;
        if self.announced.waiting() + flows.len() > max {
            let detail =
                format!("{max} flows with a community may be waited for, which is the limit");
            return Err(Problem::new(429, "too many flows", detail));
        }
        let is_others =
            |ends: &FlowEnds| !client.may_follow(self.announced.told_by(ends.from, ends.to));
        if let Some(k) = flows.iter().position(is_others) {
            let detail = format!("flows[{k}]: another tenant has told its community");
            return Err(Problem::new(403, "forbidden", detail));
        }
        let by = &client.registrant;
        let mut again = Vec::new();
        for &FlowEnds { from, to } in flows {
            match self.announced.between(from, to) {
                None => self.announced.tell((from, to), community, by.clone(), self.now),
                Some(flow) if flow.observed.community.is_none() => again.push(*flow),
                Some(_) => {}
            }
        }
        let mut new = Vec::new();
        for flow in again {
            let AnnouncedFlow { src, dst, number, observed, from, to, .. } = flow;
            // A pair of ends may be named twice.
            if self.announced.between(from, to).is_none_or(|it| it.observed.community.is_some()) {
                continue;
            }
            let former = self.announced.id(src, FlowName::Number(number));
            self.end_number(src, number);
            self.announced.tell((from, to), community, by.clone(), self.now);
            let start = Time::from_secs(observed.start_s);
            let protocol = observed.protocol;
            let appearance = Appearance { number, protocol, from, to, age_s: 0.0 };
            let id = self.announced.insert(src, dst, &appearance, start, self.now);
            former.iter().for_each(|&former| self.announced.set_former(id, former));
            self.announced.sent(id, flow.sent, flow.wire, flow.active);
            self.announced.set_taken(id, flow.is_taken);
            new.push(id);
        }
        self.appear(&new);
        self.tell_ends();
        Ok(())
    }

    /// Has the policy see flows, unless it has no use for them: those are left alone.
    fn appear(&mut self, ids: &[FlowId]) {
        let all = !self.driver.wants_communities();
        let newcomers = ids.iter().filter_map(|&id| {
            let flow =
                self.announced.get(id).filter(|it| all || it.observed.community.is_some())?;
            let spec = FlowSpec { src: PortId(flow.src), dst: PortId(flow.dst), bytes: ENDLESS };
            Some(Newcomer { number: id.0, spec, observed: flow.observed })
        });
        if !ids.is_empty() {
            self.driver.appear(newcomers, self.now);
            self.dirty.note_event();
        }
    }

    /// An agent that has joined again is told that a flow is still taken.
    fn say_taken(&mut self, port: u32, number: u64) {
        let id = self.announced.id(port, FlowName::Number(number));
        let flow = id.and_then(|id| self.announced.get(id));
        if flow.is_some_and(|flow| flow.is_taken) {
            self.agents.get_mut(port).letters.taken.push(number);
            self.agents.wake(port);
        }
    }

    /// Flows have ended that no application has named: the journal knows nothing of them. Returns
    /// the other ones.
    pub(super) fn end_announced(&mut self, port: u32, ended: &[Ended]) -> Vec<Ended> {
        let mut others = Vec::with_capacity(ended.len());
        let mut names = Vec::new();
        for of in ended {
            match (self.announced.id(port, of.key), of.key.number()) {
                (Some(id), _) => self.end(id, of.bytes, of.wire),
                (None, Some(number)) => _ = self.announced.remove_elsewhere(port, number),
                (None, None) => {
                    others.push(*of);
                    continue;
                }
            }
            names.push(of.key);
        }
        self.acknowledge(port, names);
        others
    }

    /// A flow with this number is not there any more.
    fn end_number(&mut self, port: u32, number: u64) {
        self.announced.remove_elsewhere(port, number);
        let Some(id) = self.announced.id(port, FlowName::Number(number)) else { return };
        let Some(flow) = self.announced.get(id) else { return };
        let (bytes, wire) = (flow.sent, flow.wire);
        self.end(id, bytes, wire);
    }

    /// The agent of a port is lost, or does not speak of such flows. Its own are over; it says
    /// which are left when it is back. Those to its host are let go: it may well receive.
    pub(super) fn leave_alone(&mut self, port: u32) {
        self.announced.forget_elsewhere(port);
        let own = self.announced.numbers(port, 0..=u64::MAX);
        own.into_iter().for_each(|number| self.end_number(port, number));
        for id in self.announced.to(port) {
            let Some(&flow) = self.announced.get(id) else { continue };
            self.release(id);
            let Observed { start_s, protocol, .. } = flow.observed;
            let (number, from, to) = (flow.number, flow.from, flow.to);
            // The flow is scheduled again when the receiver's agent is back.
            let appearance = Appearance { number, protocol, from, to, age_s: 0.0 };
            self.announced.note_elsewhere(flow.src, appearance, Time::from_secs(start_s));
        }
        self.announced.disclaim(port);
        self.tell_ends();
    }

    /// A flow is scheduled no more. Its agent lets it go.
    fn release(&mut self, id: FlowId) {
        let Some(&flow) = self.announced.get(id) else { return };
        if let Some(key) = self.coflows.ids.key(id) {
            self.withdraw(key);
        }
        self.end(id, flow.sent, flow.wire);
        let agent = self.agents.get_mut(flow.src);
        // An agent that is not there lets all go.
        if agent.connection.session.is_some() {
            agent.letters.released.push(flow.number);
            self.agents.wake(flow.src);
        }
    }

    /// A flow is over, with so many bytes.
    fn end(&mut self, id: FlowId, bytes: f64, wire: f64) {
        let Some(flow) = self.announced.remove(id) else { return };
        match self.coflows.ids.key(id) {
            None => self.driver.forget_newcomer(id.0),
            Some(key) => {
                self.agents.flow_ended(flow.src, id);
                self.finish(key, bytes, wire);
            }
        }
    }

    /// Flows that have sent nothing for long, though they may, are over. Their agents let them go.
    pub(super) fn end_silent(&mut self) {
        let (now, silent_after_s) = (self.now, self.config.silent_after_s);
        let mut silent = Vec::new();
        for id in self.announced.ids() {
            let Some(flow) = self.announced.get_mut(id) else { continue };
            let key = self.coflows.ids.key(id);
            let of_group = key.and_then(|key| Some((key, self.coflows.get(key.coflow)?)));
            let waits = of_group.is_none_or(|(key, coflow)| {
                let stage = coflow.flows.get(key.flow).map(|flow| flow.stage);
                let is_served = coflow.served.contains_key(&key.flow);
                stage == Some(Stage::Active) && !is_served
            });
            if waits {
                flow.active = now;
            } else if now - flow.active >= silent_after_s {
                silent.push(id);
            }
        }
        silent.into_iter().for_each(|id| self.release(id));
        self.announced.forget_told_before(Time::from_secs(now.as_secs() - silent_after_s));
        self.tell_ends();
    }

    /// Follows what the policy has done with groups of its own making.
    pub(super) fn follow_groups(&mut self) {
        let regrouped = self.driver.take_regrouped();
        if regrouped.is_empty() {
            return;
        }
        let Regrouped { begun, placed, left } = regrouped;
        for id in begun {
            let registration = &self.driver.state().coflow(id).registration;
            self.coflows.begin_group(registration.seq, id, registration.lineage, self.now);
        }
        for &(number, to) in &placed {
            self.place(FlowId(number), to.coflow, to.index);
        }
        let mut touched: Vec<CoflowId> = placed.iter().map(|(_, to)| to.coflow).collect();
        touched.sort_unstable();
        touched.dedup();
        for &id in &touched {
            self.note_moved(self.coflows.serial(id));
        }
        self.dirty.note_groups(touched);
        left.into_iter().for_each(|id| self.group_left(id));
    }

    /// Puts a flow where the policy has put it.
    fn place(&mut self, id: FlowId, group: CoflowId, index: u32) {
        let Some(&flow) = self.announced.get(id) else { return };
        let to = FlowKey { coflow: self.coflows.serial(group), flow: index };
        let moved = match self.coflows.ids.key(id) {
            None => {
                let (sent, wire, stage) = (flow.sent, flow.wire, Stage::Active);
                let (src, dst, bytes, ratio) = (flow.src, flow.dst, None, None);
                let new = Flow { src, dst, bytes, sent, wire, stage, ratio };
                Some((new, vec![FlowName::Number(flow.number)]))
            }
            Some(from) => {
                self.agents.get_mut(flow.src).usage.rename(from, to);
                if let Some(until) = self.awaited_ends.remove(&from) {
                    self.awaited_ends.insert(to, until);
                }
                self.coflows.take_out(from, self.announced.give(), self.now)
            }
        };
        if let Some(moved) = moved {
            let announced = &mut self.announced;
            self.coflows.put(to, id, moved, || announced.give(), self.now);
        }
        self.take_over(id);
    }
}
