//! Coflows belong to the token that registered them.

use std::collections::BTreeMap;

use covey_api::{CoflowSpec, Flow, FlowEnds, Problem, Update};
use covey_core::{Fabric, Time};
use covey_proto::{FlowKey, FromAgent, Sent};

use super::helpers::{core, settle};
use crate::record::{Digest, Key, Record, Registrant};
use crate::request::{Answer, Client, Reply, Request};
use crate::state::{Config, CoordinatorState, Output};
use covey_api::Limits;

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
    let key = |digest: u64| Some(Key { key: "job".to_owned(), digest: digest.into() });
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
fn requests_are_compared_by_sha_256_and_with_those_of_old_journals_by_crc() {
    let digest = |crc, sha256: &str| Digest { crc, sha256: Some(sha256.to_owned()) };
    let key = |digest: Digest| Key { key: "job".to_owned(), digest };
    let old: Key = serde_json::from_str(r#"{"key":"job","digest":9}"#).expect("a key");
    assert_eq!(old, key(9.into()));
    let new = key(digest(9, "ab"));
    let json = serde_json::to_string(&new).expect("text");
    assert_eq!(json, r#"{"key":"job","digest":9,"sha256":"ab"}"#);
    assert_eq!(serde_json::from_str::<Key>(&json).expect("a key"), new);
    assert!(new.digest.is_same(&old.digest) && !new.digest.is_same(&8.into()));
    // Two bodies with one CRC are two requests.
    assert!(!new.digest.is_same(&digest(9, "cd")));
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
    let key = Some(Key { key: "job".to_owned(), digest: 9.into() });
    assert_eq!(id(ask(&mut core, &anna, Request::Register { spec: one(), key })), 3);
    assert!(ask(&mut core, &anna, Request::Remove { id: 3 }).is_ok());
}

fn limits(of: &[(&str, &str)]) -> BTreeMap<String, Limits> {
    let limits = |text: &str| {
        let mut limits = Limits::default();
        text.split(' ').for_each(|limit| limits.set(limit).expect(limit));
        limits
    };
    of.iter().map(|(token, text)| (token.to_string(), limits(text))).collect()
}

#[test]
fn a_token_has_no_more_than_it_may_also_of_what_is_under_way() {
    let mut core = start(Vec::new());
    core.set_limits(limits(&[("anna", "coflows=2 flows=5 keys=1 ports=0-1"), ("berta", "gone=1")]));
    let [anna, berta] = [client("anna", "anna"), client("berta", "berta")];
    let limited = |answer: Answer| {
        let problem = answer.expect_err("a refusal");
        assert_eq!(problem.token.as_deref(), Some("anna"));
        assert!(problem.detail.contains("the token 'anna'"), "{}", problem.detail);
        (problem.status, problem.limit.expect("a limit").to_string())
    };
    let flows = |count| CoflowSpec::of(vec![Flow::new(0, 1, Some(1e3)); count]);
    let key = Some(Key { key: "job".to_owned(), digest: 1.into() });
    let keyed = Request::Register { spec: flows(1), key };
    let first = id(ask(&mut core, &anna, keyed.clone()));
    assert_eq!(id(ask(&mut core, &anna, keyed)), first, "it is no second one");
    let other = Some(Key { key: "other".to_owned(), digest: 1.into() });
    let other = Request::Register { spec: flows(1), key: other };
    assert_eq!(limited(ask(&mut core, &anna, other)), (429, "keys".to_owned()));
    assert_eq!(limited(register(&mut core, &anna, flows(5))), (429, "flows".to_owned()));
    let add = |count| Update { add: vec![Flow::new(0, 1, Some(1e3)); count], ..Update::default() };
    let update = |count| Request::Update { id: first, update: add(count), revision: None };
    assert_eq!(limited(ask(&mut core, &anna, update(5))), (429, "flows".to_owned()));
    assert!(ask(&mut core, &anna, update(2)).is_ok());
    // Ten at once, of which one has room.
    for request in 0..10 {
        let what = Request::Register { spec: flows(1), key: None };
        core.request_of(request, anna.clone(), what, Time::ZERO);
    }
    settle(&mut core, 0.0);
    assert_eq!((core.coflows.held.of("anna").coflows, core.coflows.len()), (2, 2));
    assert_eq!(limited(register(&mut core, &anna, flows(1))), (429, "coflows".to_owned()));
    let away = CoflowSpec::of(vec![Flow::new(0, 1, None), Flow::new(0, 2, None)]);
    assert_eq!(limited(register(&mut core, &anna, away)), (403, "ports".to_owned()));
    let away = Update { add: vec![Flow::new(2, 0, None)], ..Update::default() };
    let away = Request::Update { id: first, update: away, revision: None };
    assert_eq!(limited(ask(&mut core, &anna, away)), (403, "ports".to_owned()));
    // Others have no such limits, and limits change with the file.
    for _ in 0..4 {
        register(&mut core, &berta, flows(4)).expect("a coflow");
    }
    core.set_limits(limits(&[("anna", "coflows=3")]));
    register(&mut core, &anna, flows(9)).expect("a coflow");
    for held in core.coflows.range(0).map(|(id, _)| id).collect::<Vec<u64>>() {
        ask(&mut core, &Client::own(), Request::Remove { id: held }).expect("it goes");
    }
    assert_eq!((core.coflows.held.len(), core.journal.entries()), (0, 0));
}

#[test]
fn who_registers_many_coflows_forgets_only_its_own() {
    let mut core = start(Vec::new());
    core.config.max_gone = 6;
    let [anna, berta] = [client("anna", "anna"), client("berta", "berta")];
    let go = |core: &mut CoordinatorState, client: &Client, key: Option<u64>| {
        let key = key.map(|key| Key { key: key.to_string(), digest: 1.into() });
        let id = id(ask(core, client, Request::Register { spec: one(), key }));
        ask(core, client, Request::Remove { id }).expect("it goes");
        id
    };
    let of_anna = [1, 2, 3].map(|key| go(&mut core, &anna, Some(key)));
    let of_berta: Vec<u64> = (0..20).map(|key| go(&mut core, &berta, Some(key))).collect();
    let remembered = |core: &CoordinatorState| core.coflows.gone.serials();
    let last = [&of_anna[..], &of_berta[17..]].concat();
    assert_eq!(remembered(&core), last);
    // Keys go before coflows, those of the first ones first.
    core.set_limits(limits(&[("anna", "keys=1"), ("berta", "gone=1")]));
    assert_eq!(remembered(&core), [&of_anna[..], &of_berta[19..]].concat());
    assert_eq!(core.holdings()["anna"], (Default::default(), 3, 1));
    let again = |core: &mut CoordinatorState, key: u64| {
        let key = Some(Key { key: key.to_string(), digest: 1.into() });
        id(ask(core, &anna, Request::Register { spec: one(), key }))
    };
    assert_eq!(again(&mut core, 3), of_anna[2]);
    let (records, _) = core.snapshot();
    let entries = core.coflows.gone.len();
    assert_eq!(start(records).coflows.gone.len(), entries);
    assert_ne!(again(&mut core, 1), of_anna[0], "it is forgotten");
}

#[test]
fn an_agent_keeps_no_coflow_that_has_no_flow_at_its_port() {
    let mut core = core("aalo", &[&[(0, 1)]]);
    let kept_s = |core: &CoordinatorState| core.status(0).and_then(|it| it.kept_s);
    settle(&mut core, 20.0);
    let sent = Sent { key: FlowKey { coflow: 0, flow: 0 }.into(), bytes: 1e3, wire: 1e3 };
    for says in [FromAgent::Keeps(vec![0, 7]), FromAgent::Sent(vec![sent])] {
        core.heard(3, says, Time::from_secs(20.0));
    }
    assert_eq!((kept_s(&core), core.counts().strange_keeps), (Some(80.0), 2));
    // Its receiver's agent does.
    core.heard(1, FromAgent::Keeps(vec![0]), Time::from_secs(20.0));
    assert_eq!((kept_s(&core), core.counts().strange_keeps), (Some(100.0), 2));
    let huge = FromAgent::Checked { refused: u64::MAX, unproven: u64::MAX };
    core.heard(3, huge, Time::from_secs(20.0));
    assert_eq!(core.counts().flows_refused, 1_000_000);
}

#[test]
fn a_flow_that_sent_more_than_it_declared_goes_behind_and_so_does_what_its_tenant_declares_next() {
    let mut core = core("sebf", &[]);
    let [liar, honest] = [client("liar", "liar"), client("honest", "honest")];
    let sized = |bytes| CoflowSpec::of(vec![Flow::new(0, 1, Some(bytes))]);
    let register = |core: &mut CoordinatorState, client: &Client, bytes| {
        id(register(core, client, sized(bytes)))
    };
    let rates = |core: &CoordinatorState, ids: &[u64]| -> Vec<f64> {
        ids.iter().map(|id| core.status(*id).expect("a coflow").rate).collect()
    };
    let sent = |core: &mut CoordinatorState, coflow, bytes| {
        let sent = Sent { key: FlowKey { coflow, flow: 0 }.into(), bytes, wire: bytes };
        core.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
        settle(core, 0.0);
    };
    let (one, other) = (register(&mut core, &liar, 1.0), register(&mut core, &honest, 1e9));
    assert_eq!(rates(&core, &[one, other]), [1e6, 0.0]);
    sent(&mut core, one, 5e8);
    assert_eq!(rates(&core, &[one, other]), [1e6, 0.0], "as much as it has sent is less");
    sent(&mut core, one, 6e9);
    assert_eq!(rates(&core, &[one, other]), [0.0, 1e6]);
    // Another byte of this tenant counts for six billion; that of an honest one for a byte.
    let again = register(&mut core, &liar, 1.0);
    assert_eq!(rates(&core, &[other, again]), [1e6, 0.0]);
    let small = register(&mut core, &honest, 1.0);
    assert_eq!(rates(&core, &[other, again, small]), [0.0, 0.0, 1e6]);
    assert_eq!(core.size_factors()["liar"], 6e9);
    // A start begins anew.
    let (records, _) = core.snapshot();
    assert!(start(records).size_factors().is_empty());
}

#[test]
fn a_flow_without_a_size_starves_under_no_policy_that_needs_sizes() {
    let spec = CoflowSpec::of(vec![Flow::new(0, 1, None)]);
    let record = Record::registered(0, 0.0, spec);
    let fabric = Fabric::big_switch(4, 1e6).expect("a fabric");
    for policy in ["sebf", "scf", "ncf", "sjf"] {
        let Ok(built) = covey_sched::build(policy) else { continue };
        let config = Config { lost_after_s: f64::INFINITY, ..Config::default() };
        let records = vec![record.clone()];
        let mut core =
            CoordinatorState::new(fabric.clone(), built.policy, config, 1, records, Time::ZERO);
        settle(&mut core, 0.0);
        assert_eq!(core.status(0).expect("a coflow").rate, 1e6, "{policy}");
    }
}

#[test]
fn what_a_tenant_tells_of_a_flow_no_other_tenant_tells_otherwise() {
    let mut core = core("coda", &[]);
    let [anna, other, berta] =
        [client("anna", "lab"), client("other", "lab"), client("berta", "berta")];
    let tell = |core: &mut CoordinatorState, client: &Client, to: &str| {
        let [from, to] = ["10.0.0.1:1", to].map(|end| end.parse().expect("an address"));
        let flows = vec![FlowEnds { from, to }];
        ask(core, client, Request::Community { community: 7, flows })
    };
    assert!(tell(&mut core, &anna, "10.0.0.2:2").is_ok());
    assert!(tell(&mut core, &berta, "10.0.0.2:3").is_ok());
    let detail = refused(tell(&mut core, &berta, "10.0.0.2:2"));
    assert_eq!(detail, "flows[0]: another tenant has told its community");
    let operator = Client { operates: true, ..berta };
    assert!(tell(&mut core, &other, "10.0.0.2:2").is_ok());
    assert!(tell(&mut core, &operator, "10.0.0.2:2").is_ok());
}
