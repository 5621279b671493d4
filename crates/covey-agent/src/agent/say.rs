//! Reports, in messages below the size limit.

use covey_proto::{Appearance, Appeared, FromAgent, Uses};

/// Maximum number of flows that appear in a message.
const MAX_APPEARED: usize = 16_000;

/// Maximum number of flows named in a message, which keeps the message below its size limit.
const MAX_NAMED: usize = 32_000;

/// Adds messages about `items`, each about [`MAX_NAMED`] of them at most.
pub fn say<T: Clone>(
    items: impl Iterator<Item = T>,
    message: impl Fn(Vec<T>) -> FromAgent,
    out: &mut Vec<FromAgent>,
) {
    let items: Vec<T> = items.collect();
    out.extend(items.chunks(MAX_NAMED).map(|some| message(some.to_vec())));
}

/// Adds messages about new flows that no application has named.
pub fn say_appeared(flows: &[Appearance], out: &mut Vec<FromAgent>) {
    let message = |some: &[Appearance]| Appeared { all_in: None, flows: some.to_vec() };
    out.extend(flows.chunks(MAX_APPEARED).map(|some| FromAgent::Appeared(message(some))));
}

/// Adds messages about all flows that no application has named, in the order of their numbers.
pub fn say_all_appeared(flows: &[Appearance], out: &mut Vec<FromAgent>) {
    let mut first = 0;
    let mut rest = flows;
    loop {
        let (some, others) = rest.split_at(rest.len().min(MAX_APPEARED));
        let last = some.last().filter(|_| !others.is_empty()).map_or(u64::MAX, |flow| flow.number);
        let appeared = Appeared { all_in: Some((first, last)), flows: some.to_vec() };
        out.push(FromAgent::Appeared(appeared));
        if others.is_empty() {
            return;
        }
        (first, rest) = (last + 1, others);
    }
}

pub fn say_uses(uses: Option<Uses>, out: &mut Vec<FromAgent>) {
    let Some(Uses { mut all, mut flows, mut unopened }) = uses else { return };
    while flows.len() > MAX_NAMED || unopened.len() > MAX_NAMED {
        let flows = flows.drain(..flows.len().min(MAX_NAMED)).collect();
        // A coflow's moving flows must be said before the coflow is called unopened, or with it.
        let few = unopened.len() > MAX_NAMED;
        let unopened = unopened.drain(..if few { MAX_NAMED } else { 0 }).collect();
        out.push(FromAgent::Uses(Uses { all: std::mem::take(&mut all), flows, unopened }));
    }
    out.push(FromAgent::Uses(Uses { all, flows, unopened }));
}
