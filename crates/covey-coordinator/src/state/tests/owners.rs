//! Coflows belong to the token that registered them.

use covey_api::{CoflowSpec, Flow, Problem, Update};
use covey_core::{Fabric, Time};

use super::helpers::settle;
use crate::record::{Key, Record, Registrant};
use crate::request::{Answer, Client, Reply, Request};
use crate::state::{Config, CoordinatorState, Output};

/// The client of a token.
fn client(token: &str, tenant: &str) -> Client {
    let registrant = Registrant { token: token.to_owned(), tenant: tenant.to_owned() };
    Client { registrant: Some(registrant), operates: false }
}

fn start(records: Vec<Record>) -> CoordinatorState {
    let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
    let built = covey_sched::build("aalo").expect("a policy");
    CoordinatorState::new(fabric, built.policy, Config::default(), 1, records, Time::ZERO)
}

/// Asks for something, and has what is to be written written.
fn ask(core: &mut CoordinatorState, client: &Client, what: Request) -> Answer {
    core.request_of(7, client.clone(), what, Time::ZERO);
    let (mut answer, mut last) = (None, 0);
    for _ in 0..2 {
        for output in core.take_outputs() {
            match output {
                Output::Answer(7, found) => answer = Some(found),
                Output::Journal(lsn, _) => last = lsn,
                _ => {}
            }
        }
        core.durable(last, Time::ZERO);
    }
    settle(core, 0.0);
    answer.expect("an answer")
}

fn register(core: &mut CoordinatorState, client: &Client, spec: CoflowSpec) -> Answer {
    ask(core, client, Request::Register { spec, key: None })
}

fn id(answer: Answer) -> u64 {
    match answer {
        Ok(Reply::Registered(status)) => status.id,
        other => panic!("{other:?}"),
    }
}

fn refused(answer: Answer) -> String {
    let Problem { status, detail, .. } = answer.expect_err("a refusal");
    assert_eq!(status, 403);
    detail
}

fn one() -> CoflowSpec {
    CoflowSpec::of(vec![Flow::new(0, 1, Some(1e3))])
}

#[test]
fn only_the_token_that_registered_a_coflow_and_those_that_operate_change_it() {
    let mut core = start(Vec::new());
    let [anna, berta, other] =
        [client("anna", "lab"), client("berta", "berta"), client("other", "lab")];
    let id_of = |core: &mut CoordinatorState| id(register(core, &anna, one()));
    let coflow = id_of(&mut core);
    let open = |id| {
        let update = Update { open: Some(true), ..Update::default() };
        Request::Update { id, update, revision: None }
    };
    let keep = |id| Request::Keep { id, lease_s: Some(5.0) };
    for others in [&berta, &other, &Client::default()] {
        for what in [open(coflow), keep(coflow), Request::Remove { id: coflow }] {
            let detail = refused(ask(&mut core, others, what));
            assert!(detail.starts_with("coflow 0 belongs to the token 'anna'"), "{detail}");
        }
        let own = id(register(&mut core, others, one()));
        let update = Update { take: vec![0], ..Update::default() };
        let taken = ask(&mut core, others, Request::Update { id: own, update, revision: None });
        assert!(refused(taken).starts_with("coflow 0 belongs to the token 'anna'"));
    }
    let status = core.status(coflow).expect("a coflow");
    assert_eq!((status.owner.as_deref(), status.tenant.as_deref()), (Some("anna"), Some("lab")));
    assert_eq!(status.revision, 0);
    let operator = Client { operates: true, ..berta.clone() };
    for may in [&anna, &operator, &Client::own()] {
        let coflow = id_of(&mut core);
        for what in [open(coflow), keep(coflow), Request::Remove { id: coflow }] {
            assert!(ask(&mut core, may, what).is_ok());
        }
    }
    // A coflow joins the DAG of its parents.
    let child = CoflowSpec { parents: vec![coflow], ..one() };
    let detail = refused(register(&mut core, &berta, child.clone()));
    assert_eq!(detail, "parents[0]: coflow 0 is another tenant's");
    assert!(register(&mut core, &other, child).is_ok());
}

#[test]
fn keys_are_those_of_the_token_and_owners_survive_compaction() {
    let mut core = start(Vec::new());
    let [anna, berta] = [client("anna", "lab"), client("berta", "berta")];
    let key = |digest| Some(Key { key: "job".to_owned(), digest });
    let register = |core: &mut CoordinatorState, client: &Client, digest| {
        ask(core, client, Request::Register { spec: one(), key: key(digest) })
    };
    let first = id(register(&mut core, &anna, 1));
    let second = id(register(&mut core, &berta, 2));
    assert!(first != second && id(register(&mut core, &anna, 1)) == first);
    // The second ends.
    assert!(ask(&mut core, &berta, Request::Remove { id: second }).is_ok());
    for _ in 0..2 {
        let (records, _) = core.snapshot();
        core = start(records);
        assert_eq!(core.status(first).expect("present").owner.as_deref(), Some("anna"));
        assert_eq!(core.status(second).expect("gone").tenant.as_deref(), Some("berta"));
        assert_eq!(id(register(&mut core, &anna, 1)), first);
        assert_eq!(id(register(&mut core, &berta, 2)), second);
        assert_eq!(register(&mut core, &berta, 1).expect_err("another request").status, 422);
    }
}

#[test]
fn a_coflow_of_an_old_journal_belongs_to_nobody_and_anybody_may_change_it() {
    let old = r#"{"registered":{"id":3,"at_s":0.0,"lineage":[3,0],"key":{"key":"job","digest":9},
        "spec":{"flows":[{"src":0,"dst":1}]}}}"#;
    let mut core = start(vec![serde_json::from_str(old).expect("a record")]);
    let anna = client("anna", "anna");
    let status = core.status(3).expect("a coflow");
    assert_eq!((status.owner, status.tenant), (None, None));
    // A client that asks again after an upgrade gets the coflow that it had.
    let key = Some(Key { key: "job".to_owned(), digest: 9 });
    assert_eq!(id(ask(&mut core, &anna, Request::Register { spec: one(), key })), 3);
    assert!(ask(&mut core, &anna, Request::Remove { id: 3 }).is_ok());
}
