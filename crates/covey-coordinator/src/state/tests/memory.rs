//! Nothing stays of coflows that have gone.

use covey_api::{CoflowSpec, Flow};
use covey_core::{Fabric, Time};

use super::super::agent::AgentState;
use super::super::lifecycle::RECORDS_A_PLAN;
use super::super::{Config, CoordinatorState, Output};
use crate::record::Record;
use crate::request::Request;

fn settle(core: &mut CoordinatorState, now: Time) {
    core.decide(now).expect("a plan");
    for output in core.take_outputs() {
        if let Output::Journal(lsn, _) = output {
            core.durable(lsn, now);
        }
    }
    core.decide(now).expect("a plan");
    core.take_outputs();
}

/// Entries of everything that has some for each flow or coflow.
fn held(core: &CoordinatorState) -> usize {
    let of_agent = |agent: &AgentState| {
        let usage = agent.usage.flows.len() + agent.usage.unopened.len();
        let letters = &agent.letters;
        let letters = letters.over.len() + letters.thresholds.len() + letters.acknowledged.len();
        usage + letters + agent.assignments.entries()
    };
    let agents = core.agents.iter().map(|(_, agent)| of_agent(agent)).sum::<usize>();
    let waiting = core.journal.entries()
        + core.order.entries()
        + core.awaited_bytes.entries()
        + core.awaited_ends.len();
    core.coflows.entries() + agents + waiting
}

#[test]
fn of_flows_whose_ends_are_in_the_journal_no_agent_hears() {
    for policy in ["covey", "sebf", "fifo", "fair"] {
        let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
        let built = covey_sched::build(policy).expect("a policy");
        let mut records = Vec::new();
        for id in 0..2 * RECORDS_A_PLAN as u64 {
            let flow = Flow::new(0, 1, Some(1e9));
            records.push(Record::registered(id, 0.0, CoflowSpec::of(vec![flow])));
            if id > 0 {
                let (flows, compressed) = (vec![(0, 1e9)], Vec::new());
                records.push(Record::Ended { id: id - 1, at_s: 0.0, flows, compressed });
            }
        }
        let config = Config::default();
        let mut core = CoordinatorState::new(fabric, built.policy, config, 1, records, Time::ZERO);
        settle(&mut core, Time::ZERO);
        let wanted: Vec<u64> =
            core.agents.get(0).assignments.keys().filter_map(|name| name.coflow()).collect();
        assert_eq!(wanted, [2 * RECORDS_A_PLAN as u64 - 1], "{policy}");
    }
}

#[test]
fn coflows_that_went_before_any_agent_came_leave_nothing() {
    for policy in ["covey", "aalo", "philae", "saath", "sebf", "fifo", "fair"] {
        let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
        let built = covey_sched::build(policy).expect("a policy");
        let config = Config { max_gone: 1, ..Config::default() };
        let mut core = CoordinatorState::new(fabric, built.policy, config, 1, [], Time::ZERO);
        let mut after_first = None;
        for id in 0..50 {
            let now = Time::from_secs(id as f64);
            let flow = Flow::new(0, 1, Some(1e9));
            let spec = CoflowSpec::of(vec![flow, Flow { src: 2, dst: 1, ..flow }]);
            core.request(2 * id, Request::Register { spec, key: None }, now);
            settle(&mut core, now);
            core.request(2 * id + 1, Request::Remove { id }, now);
            settle(&mut core, now);
            assert_eq!(core.population().coflows, 0, "{policy}");
            let first = *after_first.get_or_insert(held(&core));
            assert_eq!(held(&core), first, "{policy}: after {} coflows", id + 1);
        }
    }
}
