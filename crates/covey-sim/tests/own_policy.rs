//! Least attained service: the coflow that has sent the fewest whole megabytes goes first.
use covey_core::{Answer, AnyPolicy, CoflowId, Fabric, Group, NonClairvoyant, Plan, Policy, Share};
use covey_trace::{Coflow, Flow, Workload};
type View<'a> = covey_core::View<'a, NonClairvoyant>; // sizes are not to be seen
const STEP: f64 = 1e6; // bytes
#[derive(Default)]
struct LeastServed(Vec<u32>); // steps each coflow has sent
impl Policy<NonClairvoyant> for LeastServed {
    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_>) {
        self.0.resize(view.slots(), 0);
        self.0[coflow.index()] = 0; // numbers of coflows are used again
    }
    fn bytes_reached(&mut self, coflow: CoflowId, _: f64, _: &View<'_>) {
        self.0[coflow.index()] += 1;
    }
    fn plan(&mut self, view: &View<'_>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        let mut order = view.coflows().to_vec(); // by arrival, and so within a step
        order.sort_by_key(|c| self.0[c.index()]);
        plan.clear();
        for c in order {
            plan.push(Group::Coflow(c), Share::MAX_MIN);
            plan.wake_when_sent(c, STEP * f64::from(self.0[c.index()] + 1));
        }
        Answer::Replaced
    }
}
#[test]
fn the_small_coflow_overtakes_the_large_one() -> Result<(), Box<dyn std::error::Error>> {
    let flows = |bytes| vec![Flow { src: 0, dst: 1, bytes, start_s: 0.0 }];
    let a = Coflow::new("a".to_owned(), 0.0, flows(3e6));
    let b = Coflow::new("b".to_owned(), 0.5, flows(1e6));
    let workload = Workload::new(2, vec![a, b]);
    let mut policy = AnyPolicy::NonClairvoyant(Box::new(LeastServed::default()));
    let network = Fabric::big_switch(2, 1e6)?; // bytes per second
    let outcome = covey_sim::simulate(&workload, &network, "las", &mut policy, &mut ())?;
    let ends = outcome.coflows.iter().map(|c| c.completion_s);
    assert!(ends.eq([4.0, 2.0])); // a is served from 0 to 1 and from 2 to 4, b in between
    Ok(())
}
