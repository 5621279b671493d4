//! Ids of coflows that nobody else has given.
//!
//! The highest bit says so. 31 random bits are the same for all coflows of a DAG, 12 bits are the
//! id that Algorithm 1 gives to the coflow's sub-coflows, and 20 random bits tell coflows of a DAG
//! apart. So hosts that only hear the id know what belongs together, and in which order.

use covey_stream::{Proposal, sub_coflow_id};

/// Bit that is set in the ids of coflows that no coordinator knows.
pub const UNREGISTERED: u64 = 1 << 63;

const SUB_BITS: u32 = 12;
const SERIAL_BITS: u32 = 20;

/// The DAG of a coflow.
pub fn dag_of(coflow: u64) -> u32 {
    (coflow >> (SUB_BITS + SERIAL_BITS)) as u32 & (u32::MAX >> 1)
}

/// The id of a coflow's sub-coflows, from 1.
pub fn sub_id_of(coflow: u64) -> u32 {
    (coflow >> SERIAL_BITS) as u32 & ((1 << SUB_BITS) - 1)
}

/// The id of a new coflow that depends on others. It belongs to the DAG of the first. `random` is
/// random.
pub fn new_id(parents: &[u64], proposal: Proposal, random: u64) -> u64 {
    let proposals = parents.iter().map(|&parent| proposal.of(sub_id_of(parent)));
    let sub_id = u64::from(sub_coflow_id(proposals).min((1 << SUB_BITS) - 1));
    let dag = u64::from(dag_of(parents.first().copied().unwrap_or(random)));
    let serial = random & ((1 << SERIAL_BITS) - 1);
    UNREGISTERED | dag << (SUB_BITS + SERIAL_BITS) | sub_id << SERIAL_BITS | serial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_the_dag_and_the_order_in_it() {
        let first = new_id(&[], Proposal::Next, 0x1234_5678_9abc_def0);
        let others = [1, 2].map(|random| new_id(&[first], Proposal::Next, random));
        let last = new_id(&others, Proposal::Next, 3);
        let all = [first, others[0], others[1], last];
        assert!(all.iter().all(|id| dag_of(*id) == dag_of(first) && id & UNREGISTERED != 0));
        assert_eq!(all.map(sub_id_of), [1, 2, 2, 4]);
        assert_ne!(others[0], others[1]);
        let alone = new_id(&[], Proposal::Next, 5);
        assert_ne!(dag_of(alone), dag_of(first));
    }
}
