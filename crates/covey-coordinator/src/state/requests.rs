//! What clients ask for: checked, and written to the journal.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use covey_api::{CoflowSpec, Flow, Problem, Update};
use covey_core::{Lineage, Time};
use covey_proto::MAX_BYTES;

use super::attempts::{check_attempts, sized};
use super::coflows::{Coflow, OwnKey};
use super::coordinator::CoordinatorState;
use super::effects::RequestId;
use super::flows::Stage;
use super::held::Held;
use super::journal_queue::More;
use super::order::Behind;
use crate::ranges::check_range;
use crate::record::{Key, Record, Registrant};
use crate::request::{Client, Reply, Request};

/// Seconds for which a coflow may be kept.
const LEASE_S: RangeInclusive<f64> = 1.0..=86_400.0;

/// Weights of coflows: sums and quotients of them stay finite.
const WEIGHT: RangeInclusive<f64> = 1e-18..=1e18;

/// Seconds in which a coflow may have to end.
const DEADLINE_S: RangeInclusive<f64> = 1e-9..=1e12;

/// The most parents of a coflow.
const MAX_PARENTS: usize = 1024;

impl CoordinatorState {
    /// The program around the coordinator asks for something, as [`Client::own`].
    pub fn request(&mut self, request: RequestId, what: Request, now: Time) {
        self.request_of(request, Client::own(), what, now);
    }

    /// A client asks for something.
    pub fn request_of(&mut self, request: RequestId, client: Client, what: Request, now: Time) {
        self.advance(now);
        if let Some(coflow) = self.changing(&client.registrant, &what) {
            // What it changes is checked when it is known.
            match self.check_pending() {
                Ok(()) => self.order.wait(coflow, Behind::Request(request, client, Box::new(what))),
                Err(problem) => self.effects.answer(request, Err(problem)),
            }
            return;
        }
        let refused = match what {
            Request::Register { spec, key } => self.register(request, client, spec, key).err(),
            Request::Update { id, update, revision } => {
                self.update(request, &client, id, update, revision).err()
            }
            Request::Remove { id } => self.remove(request, &client, id).err(),
            Request::Keep { id, lease_s } => {
                self.asked_to_keep(request, &client, id, lease_s).err()
            }
            Request::Community { community, flows } => {
                let answer = self.tell_community(&client, community, &flows).map(|()| Reply::Noted);
                self.effects.answer(request, answer);
                None
            }
            Request::Get { id } => {
                let answer = self.status(id).map(Reply::Coflow).ok_or_else(|| Problem::unknown(id));
                self.effects.answer(request, answer);
                None
            }
            Request::Drain { port, draining } => self.drain(request, port, draining).err(),
        };
        if let Some(problem) = refused {
            self.effects.answer(request, Err(problem));
        }
    }

    /// A coflow that this would change, and of which a change is under way; or that it would read,
    /// and of which a change has had a part of its effect.
    fn changing(&self, registrant: &Option<Registrant>, what: &Request) -> Option<u64> {
        let (id, take) = match what {
            Request::Get { id } => return Some(*id).filter(|id| self.unfinished.changes(*id)),
            Request::Register { key: Some(key), .. } => {
                let known = self.coflows.registered_with(&OwnKey::of(registrant, key));
                return known.map(|(id, _)| id).filter(|id| self.unfinished.changes(*id));
            }
            Request::Update { id, update, .. } => (*id, update.take.as_slice()),
            Request::Remove { id } | Request::Keep { id, .. } => (*id, [].as_slice()),
            _ => return None,
        };
        let mut coflows = self.coflows.ids.coflows(take).chain([id]);
        coflows.find(|coflow| self.order.is_changing(*coflow))
    }

    fn register(
        &mut self,
        request: RequestId,
        client: Client,
        spec: CoflowSpec,
        key: Option<Key>,
    ) -> Result<(), Problem> {
        if let Some(key) = &key {
            let own = OwnKey::of(&client.registrant, key);
            if let Some(is_same) = self.journal.join(&own, &key.digest, request) {
                return same(key, is_same);
            }
            if let Some((id, digest)) = self.coflows.registered_with(&own) {
                same(key, digest.is_same(&key.digest))?;
                let status = self.status(id).ok_or_else(|| Problem::unknown(id))?;
                self.effects.answer(request, Ok(Reply::Registered(status)));
                return Ok(());
            }
        }
        if !self.driver.sees_coflows() {
            let detail = "the policy in force finds coflows by itself: its flows are those that agents report";
            return Err(Problem::new(409, "coflows are not registered", detail));
        }
        self.check_spec(&client, &spec)?;
        if self.coflows.len() + self.journal.registering() >= self.config.max_coflows {
            let max = self.config.max_coflows;
            let detail = format!("{max} coflows are registered, which is the limit");
            return Err(Problem::new(429, "too many coflows", detail));
        }
        let (flows, keys) = (spec.flows.len(), usize::from(key.is_some()));
        let more = Held { coflows: 1, flows, keys };
        self.check_more(client.registrant.as_ref(), more)?;
        self.check_pending()?;
        let parents = spec.parents.iter().filter_map(|&parent| self.coflows.lineage(parent));
        let lineage = Lineage::after(parents).unwrap_or_else(|| {
            let external = self.coflows.dags.next;
            self.coflows.dags.next += 1;
            Lineage { external, internal: 0 }
        });
        let id = self.coflows.next_id;
        self.coflows.next_id += 1;
        let flow_ids = self.coflows.ids.give(spec.flows.len());
        let lineage = (lineage.external, lineage.internal);
        let at_s = self.now.as_secs();
        let revision = 0;
        let owner = client.registrant;
        let more = owner.as_ref().map(|owner| (owner.token.clone(), more));
        let record = Record::Registered { id, at_s, lineage, key, owner, flow_ids, revision, spec };
        // Nobody else knows it yet.
        self.journal_more(record, Some(request), Vec::new(), more);
        Ok(())
    }

    pub(super) fn check_pending(&self) -> Result<(), Problem> {
        let waiting = self.journal.len() + self.order.requests();
        if waiting < self.config.max_pending {
            return Ok(());
        }
        let detail = format!("{waiting} changes wait for the journal");
        Err(Problem::new(429, "too many requests", detail))
    }

    fn check_spec(&self, client: &Client, spec: &CoflowSpec) -> Result<(), Problem> {
        if spec.flows.is_empty() && !spec.open {
            return Err(Problem::invalid("flows: expected at least one, or open: true"));
        }
        self.check_count("flows", spec.flows.len())?;
        check_attempts("flows", &spec.flows, &[])?;
        self.check_flows(["flows", ""], &sized(&spec.flows, &[]), 0)?;
        self.check_ports(client, ["flows", ""], &spec.flows)?;
        check_range("weight", Some(spec.weight), &WEIGHT)?;
        check_range("deadline_s", spec.deadline_s, &DEADLINE_S)?;
        check_range("lease_s", spec.lease_s, &LEASE_S)?;
        check_ratio("ratio", spec.ratio)?;
        if spec.name.as_ref().is_some_and(|name| name.len() > 256) {
            return Err(Problem::invalid("name: expected at most 256 bytes"));
        }
        if spec.parents.len() > MAX_PARENTS {
            let found = spec.parents.len();
            let detail = format!("parents: expected at most {MAX_PARENTS}, found {found}");
            return Err(Problem::invalid(detail));
        }
        let is_unknown = |parent: &u64| self.coflows.lineage(*parent).is_none();
        if spec.barrier && spec.parents.is_empty() {
            return Err(Problem::invalid("barrier: expected parents to wait for, found none"));
        }
        if let Some(k) = spec.parents.iter().position(is_unknown) {
            let detail = format!("parents[{k}]: coflow {} is not known", spec.parents[k]);
            return Err(Problem::invalid(detail));
        }
        let is_others = |parent: &u64| !client.may_follow(self.coflows.owner(*parent));
        match spec.parents.iter().position(is_others) {
            Some(k) => {
                let detail =
                    format!("parents[{k}]: coflow {} is another tenant's", spec.parents[k]);
                Err(Problem::new(403, "forbidden", detail))
            }
            None => Ok(()),
        }
    }

    /// Checks flows that are to be added to `there` others of a coflow. They are in the list `at`
    /// of the request, `within` each of its items.
    fn check_flows(
        &self,
        [at, within]: [&str; 2],
        flows: &[Flow],
        there: usize,
    ) -> Result<(), Problem> {
        self.check_count(at, flows.len() + there)?;
        let ports = self.agents.ports();
        for (k, flow) in flows.iter().enumerate() {
            for (end, port) in [("src", flow.src), ("dst", flow.dst)] {
                if port >= ports {
                    let expected = format!("expected a port below {ports}, found {port}");
                    return Err(Problem::invalid(format!("{at}[{k}]{within}.{end}: {expected}")));
                }
            }
            self.check_drained(format_args!("{at}[{k}]{within}"), flow)?;
            check_ratio(format_args!("{at}[{k}]{within}.ratio"), flow.ratio)?;
            match flow.bytes {
                Some(bytes) if !(0.0..=MAX_BYTES).contains(&bytes) => {
                    let expected = format!("expected from 0 to {MAX_BYTES}, found {bytes}");
                    let detail = format!("{at}[{k}]{within}.bytes: {expected}");
                    return Err(Problem::invalid(detail));
                }
                None if self.driver.needs_sizes() => {
                    let detail =
                        format!("{at}[{k}]{within}.bytes: the policy in force must know sizes");
                    return Err(Problem::invalid(detail));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_count(&self, at: &str, found: usize) -> Result<(), Problem> {
        let max = self.config.max_flows;
        if found <= max {
            return Ok(());
        }
        let detail = format!("{at}: expected at most {max} in all, found {found}");
        Err(Problem::new(413, "too many flows", detail))
    }

    fn update(
        &mut self,
        request: RequestId,
        client: &Client,
        id: u64,
        update: Update,
        revision: Option<u64>,
    ) -> Result<(), Problem> {
        let coflow = self.own(client, id)?;
        if revision.is_some_and(|revision| revision != coflow.revision) {
            let detail = format!("coflow {id} has revision {}", coflow.revision);
            return Err(Problem::new(412, "changed meanwhile", detail));
        }
        let to: Vec<Flow> = update.moved.iter().map(|moved| moved.to).collect();
        let there = coflow.flows.len() + update.take.len();
        self.check_count("add", there + update.added())?;
        let known = self.specs(id);
        check_attempts("add", &update.add, &known)?;
        self.check_flows(["add", ""], &sized(&update.add, &known), there)?;
        if let Some(k) = to.iter().position(|flow| flow.attempt.is_some()) {
            let detail = "a flow that moves stays the attempt that it is";
            return Err(Problem::invalid(format!("move[{k}].to.attempt: {detail}")));
        }
        self.check_flows(["move", ".to"], &to, there + update.add.len())?;
        self.check_count("take", coflow.flows.len() + update.added())?;
        self.check_ports(client, ["add", ""], &update.add)?;
        self.check_ports(client, ["move", ".to"], &to)?;
        let owner = coflow.about.owner.as_ref();
        let more = Held { flows: update.added(), ..Held::default() };
        self.check_more(owner, more)?;
        let more = owner.map(|owner| (owner.token.clone(), more));
        let mut named = HashSet::new();
        for (at, flow) in update.named() {
            match coflow.flows.get(flow).map(|flow| flow.stage) {
                None => {
                    let detail = format!("{at}: coflow {id} has no flow {flow}");
                    return Err(Problem::invalid(detail));
                }
                Some(Stage::Ended) => {
                    let detail = format!("{at}: flow {flow} of coflow {id} has ended");
                    return Err(Problem::new(409, "flow has ended", detail));
                }
                Some(_) if !named.insert(flow) => {
                    return Err(Problem::invalid(format!("{at}: flow {flow} is named twice")));
                }
                Some(_) => {}
            }
        }
        self.check_taken(client, id, &update.take)?;
        self.check_pending()?;
        let at_s = self.now.as_secs();
        let flow_ids = self.coflows.ids.give(update.added());
        let coflows = self.coflows.ids.coflows(&update.take).chain([id]).collect();
        let record = Record::Updated { id, at_s, flow_ids, update };
        self.journal_more(record, Some(request), coflows, more);
        Ok(())
    }

    fn asked_to_keep(
        &mut self,
        request: RequestId,
        client: &Client,
        id: u64,
        lease_s: Option<f64>,
    ) -> Result<(), Problem> {
        check_range("lease_s", lease_s, &LEASE_S)?;
        self.own(client, id)?;
        self.keep(id, lease_s);
        let answer = self.status(id).map(Reply::Coflow).ok_or_else(|| Problem::unknown(id));
        self.effects.answer(request, answer);
        Ok(())
    }

    pub(super) fn present(&self, id: u64) -> Result<&Coflow, Problem> {
        if self.coflows.get(id).is_some_and(|coflow| coflow.flows.is_own()) {
            let detail = format!("coflow {id} was found by the policy in force, and is its own");
            return Err(Problem::new(409, "coflow is not registered", detail));
        }
        self.coflows.get(id).ok_or_else(|| match self.coflows.gone.get(id) {
            Some(_) => Problem::new(409, "coflow has gone", format!("coflow {id} has ended")),
            None => Problem::unknown(id),
        })
    }

    fn remove(&mut self, request: RequestId, client: &Client, id: u64) -> Result<(), Problem> {
        if self.coflows.gone.contains(id) {
            // As it would be had the client asked a little earlier.
            self.effects.answer(request, Ok(Reply::Removed));
            return Ok(());
        }
        self.own(client, id)?;
        self.check_pending()?;
        let at_s = self.now.as_secs();
        self.journal_change(Record::Removed { id, at_s }, Some(request), vec![id]);
        Ok(())
    }

    /// Has a change of these coflows written, and applied when it is on disk.
    pub(super) fn journal_change(
        &mut self,
        record: Record,
        request: Option<RequestId>,
        coflows: Vec<u64>,
    ) {
        self.journal_more(record, request, coflows, None);
    }

    /// The same for a change after which a token has more.
    fn journal_more(
        &mut self,
        record: Record,
        request: Option<RequestId>,
        coflows: Vec<u64>,
        more: Option<More>,
    ) {
        self.order.begin(&coflows);
        self.journal.apply(record, request, coflows, more, &mut self.effects);
    }
}

/// Checks how many compressed bytes there are for each raw byte, if that is said.
fn check_ratio(at: impl Display, ratio: Option<f64>) -> Result<(), Problem> {
    match ratio.filter(|ratio| !(*ratio > 0.0 && *ratio <= 1.0)) {
        None => Ok(()),
        Some(found) => {
            let expected = "expected above 0, and at most 1";
            Err(Problem::invalid(format!("{at}: {expected}, found {found}")))
        }
    }
}

fn same(key: &Key, is_same: bool) -> Result<(), Problem> {
    if is_same {
        return Ok(());
    }
    let detail = format!("the key '{}' came with another request before", key.key);
    Err(Problem::new(422, "key used before", detail))
}
