//! The view of a clairvoyant policy on a waiting coflow.

use std::sync::{Arc, Mutex};

use crate::common::flow;
use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Fabric, Group, Plan, Policy, Share, View,
};
use covey_sim::simulate;
use covey_trace::{Coflow, Workload};

/// Serves the last arrival first; records the bytes left of the first coflow at each plan.
struct NewestFirst(Share<Clairvoyant>, Arc<Mutex<Vec<f64>>>);

impl Policy<Clairvoyant> for NewestFirst {
    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        plan.clear();
        for &coflow in view.coflows().iter().rev() {
            plan.push(Group::Coflow(coflow), self.0);
        }
        if view.coflows().first() == Some(&CoflowId(0)) {
            self.1.lock().unwrap().push(view.left_of(CoflowId(0)));
        }
        Answer::Replaced
    }
}

#[test]
fn a_waiting_coflow_has_the_bytes_left_at_its_stop() {
    // The second coflow's two flows share a sender until 4 s, when one of them ends and the other
    // takes all of the receiver. The first coflow has sent 2 of its 10 bytes by then; the policy
    // gets no event. The third coflow arrives and ends at other ports.
    let coflow = |id: &str, arrival_s, flows| Coflow::new(id.to_owned(), arrival_s, flows);
    let coflows = vec![
        coflow("a", 0.0, vec![flow(1, 0, 10.0)]),
        coflow("b", 0.0, vec![flow(0, 0, 10.0), flow(0, 1, 2.0)]),
        coflow("c", 5.0, vec![flow(2, 2, 1.0)]),
    ];
    let workload = Workload::new(3, coflows);
    for share in [Share::MAX_MIN, Share::EQUAL] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut policy = AnyPolicy::Clairvoyant(Box::new(NewestFirst(share, seen.clone())));
        let fabric = Fabric::big_switch(3, 1.0).unwrap();
        let outcome = simulate(&workload, &fabric, "newest", &mut policy, &mut ()).unwrap();
        let ends: Vec<f64> = outcome.coflows.iter().map(|c| c.completion_s).collect();
        assert_eq!(ends, [20.0, 12.0, 6.0], "{share:?}");
        assert_eq!(*seen.lock().unwrap(), [10.0, 8.0, 8.0, 8.0], "{share:?}");
    }
}
