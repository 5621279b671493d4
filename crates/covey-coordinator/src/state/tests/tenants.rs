//! Links are divided among the tenants of the tokens that registered coflows.

use covey_api::{CoflowSpec, Flow};
use covey_core::{Fabric, TenantWeights, Time, for_each_tenant};

use super::helpers::settle;
use crate::driver::Scheduler;
use crate::record::{Record, Registrant};
use crate::request::{Client, Request};
use crate::state::{Config, CoordinatorState, Output};

fn start(records: Vec<Record>) -> CoordinatorState {
    let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
    let tenants = TenantWeights::parse("honest=3,hostile=1").expect("weights");
    let make = || covey_sched::build("aalo").expect("a policy").policy;
    let policy = for_each_tenant(tenants.weights().to_vec(), make);
    let policy = policy.unwrap_or_else(|_| panic!("aalo serves tenants"));
    let scheduler = Scheduler { policy, tenants: Some(tenants) };
    CoordinatorState::new(fabric, scheduler, Config::default(), 1, records, Time::ZERO)
}

/// Registers a coflow of one flow. Returns what is written.
fn register(core: &mut CoordinatorState, tenant: Option<&str>, dst: u32) -> Vec<Record> {
    let registrant =
        |tenant: &str| Registrant { token: tenant.to_owned(), tenant: tenant.to_owned() };
    let client = Client { registrant: tenant.map(registrant), operates: false };
    let spec = CoflowSpec::of(vec![Flow::new(0, dst, Some(1e6))]);
    core.request_of(7, client, Request::Register { spec, key: None }, Time::ZERO);
    let mut written = Vec::new();
    for output in core.take_outputs() {
        if let Output::Journal(lsn, record) = output {
            core.durable(lsn, Time::ZERO);
            written.push(record);
        }
    }
    settle(core, 0.0);
    written
}

/// The rates of all coflows, in order.
fn rates(core: &CoordinatorState) -> Vec<f64> {
    let driver = core.driver();
    let state = driver.state();
    let rate = |&id| driver.rates().rates().rate(state, id, 0);
    state.present().iter().map(rate).collect()
}

#[test]
fn a_tenant_has_its_part_however_many_coflows_others_register() {
    let mut core = start(Vec::new());
    let mut journal = register(&mut core, Some("hostile"), 1);
    journal.extend(register(&mut core, Some("hostile"), 1));
    journal.extend(register(&mut core, Some("hostile"), 2));
    assert_eq!(rates(&core).iter().sum::<f64>(), 100.0);
    journal.extend(register(&mut core, Some("honest"), 3));
    let found = rates(&core);
    assert!((found[..3].iter().sum::<f64>() - 25.0).abs() < 1e-9, "{found:?}");
    assert!((found[3] - 75.0).abs() < 1e-9, "{found:?}");
    // One that nobody owns is a tenant more, with weight 1.
    journal.extend(register(&mut core, None, 2));
    let found = rates(&core);
    assert!((found[3] - 60.0).abs() < 1e-9 && (found[4] - 20.0).abs() < 1e-9, "{found:?}");
    // The same after a start.
    let mut again = start(journal);
    settle(&mut again, 0.0);
    for (a, b) in found.iter().zip(rates(&again)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}
