//! Reports, in messages below the size limit.

use covey_proto::{FromAgent, Uses};

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
