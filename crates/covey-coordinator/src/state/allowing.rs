//! What a client may do: with coflows of its own and of others, and how much.

use std::collections::BTreeMap;

use covey_api::{Flow, Problem};

use super::coflows::Coflow;
use super::coordinator::CoordinatorState;
use super::held::Held;
use crate::record::Registrant;
use crate::request::Client;
use covey_api::Limits;

impl CoordinatorState {
    /// Sets what each token may have from now on. Nothing that a token has already is taken away,
    /// but fewer coflows that have gone may be remembered.
    pub fn set_limits(&mut self, limits: BTreeMap<String, Limits>) {
        self.limits = limits;
        self.forget_gone();
    }

    /// What each token has: of present coflows, and how many coflows that have gone and keys of
    /// those are remembered.
    pub fn holdings(&self) -> BTreeMap<String, (Held, usize, usize)> {
        let of = |token: &String| {
            let (gone, keys) = self.coflows.gone.of_token(token);
            (token.clone(), (self.coflows.held.of(token), gone, keys))
        };
        self.limits.keys().map(of).collect()
    }

    /// How many times larger than declared the flows of each tenant are taken to be by a policy
    /// that sees sizes.
    pub fn size_factors(&self) -> BTreeMap<String, f64> {
        self.sizes.factors()
    }

    /// A coflow that is present and that a client may change.
    pub(super) fn own(&self, client: &Client, id: u64) -> Result<&Coflow, Problem> {
        let coflow = self.present(id)?;
        match &coflow.about.owner {
            Some(owner) if !client.may_change(Some(owner)) => Err(not_own(id, owner)),
            _ => Ok(coflow),
        }
    }

    /// Whether a client may have so much more.
    pub(super) fn check_more(&self, owner: Option<&Registrant>, more: Held) -> Result<(), Problem> {
        let Some(token) = owner.map(|owner| &owner.token) else { return Ok(()) };
        let Some(limits) = self.limits.get(token) else { return Ok(()) };
        let (held, soon) = (self.coflows.held.of(token), self.journal.under_way(token));
        for (name, limit, there, more) in [
            ("coflows", limits.coflows, held.coflows + soon.coflows, more.coflows),
            ("flows", limits.flows, held.flows + soon.flows, more.flows),
            ("keys", limits.keys, held.keys + soon.keys, more.keys),
        ] {
            if let Some(most) = limit.filter(|most| more > 0 && there + more > *most) {
                let detail = format!(
                    "the token '{token}' has {there} {name} and asks for {more} more; its limit is {most}"
                );
                let problem = Problem::new(429, "limit of the token", detail);
                return Err(problem.of_limit(token, name));
            }
        }
        Ok(())
    }

    /// Whether flows of a coflow with this owner may have these ends. They are in the list `at` of
    /// the request, `within` each of its items.
    pub(super) fn check_ports(
        &self,
        client: &Client,
        [at, within]: [&str; 2],
        flows: &[Flow],
    ) -> Result<(), Problem> {
        let Some(Registrant { token, .. }) = &client.registrant else { return Ok(()) };
        let ports = self.limits.get(token).and_then(|limits| limits.ports.as_ref());
        let Some(ports) = ports else { return Ok(()) };
        for (k, flow) in flows.iter().enumerate() {
            for (end, port) in [("src", flow.src), ("dst", flow.dst)] {
                if !ports.contains(port) {
                    let detail = format!(
                        "{at}[{k}]{within}.{end}: the token '{token}' may name the ports {ports}, found {port}"
                    );
                    return Err(Problem::new(403, "forbidden", detail).of_limit(token, "ports"));
                }
            }
        }
        Ok(())
    }
}

/// A coflow belongs to another token.
pub(super) fn not_own(id: u64, owner: &Registrant) -> Problem {
    let detail = format!(
        "coflow {id} belongs to the token '{}': expected that one, or one with the right operate",
        owner.token
    );
    Problem::new(403, "forbidden", detail)
}
