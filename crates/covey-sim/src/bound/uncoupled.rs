//! The CCTs of an order of coflows if links did not depend on each other.

use covey_core::Fabric;
use covey_trace::Workload;

use super::links::{Links, isolated_ccts_s};
use super::machine::Machine;

/// The CCT of every coflow in seconds, if each link by itself served released coflows in the given
/// `order`. A byte need not cross both of its links at once.
///
/// `order` holds indices in the workload; coflows that are missing come last. With the order of
/// BSSI for coflows that arrive together this is the 2-approximation for coflows without coupled
/// resources, by which Aalo estimates its distance from the optimum (SIGCOMM 2015, §7; Mastrolilli
/// et al., "Minimizing the sum of weighted completion times in a concurrent open shop", Operations
/// Research Letters 38, 2010). It is optimistic, but no bound: another order may be better. If
/// coflows arrive one after the other, an order that is updated at arrivals often is better. A
/// coflow with parents takes the time that it needs alone, and no time of links.
pub fn uncoupled_cct_s(workload: &Workload, fabric: &Fabric, order: &[usize]) -> Vec<f64> {
    let mut rank = vec![usize::MAX; workload.coflows.len()];
    for (position, &coflow) in order.iter().enumerate() {
        if let Some(rank) = rank.get_mut(coflow) {
            *rank = position;
        }
    }
    let mut ccts = isolated_ccts_s(workload, fabric);
    let links = Links::new(workload, fabric);
    let mut machine = Machine::default();
    for link in links.starts.windows(2) {
        let jobs = &links.jobs[link[0]..link[1]];
        let key = |j: usize, _| (rank[jobs[j].coflow as usize], jobs[j].coflow);
        machine.serve(jobs, key, |j, since, work| {
            let cct = &mut ccts[jobs[j].coflow as usize];
            *cct = cct.max(since + work - (jobs[j].release - jobs[j].offset));
        });
    }
    ccts
}
