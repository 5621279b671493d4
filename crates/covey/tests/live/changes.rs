//! Settings that change while a coordinator runs.

use std::process::{Command, Stdio};
use std::time::Duration;

use covey_api::{Client, Response};
use serde_json::{Value, json};

use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, block_on, coflow, connect, joined, register, state, token, until,
};

async fn change(client: &mut Client, settings: Value) -> Response {
    client.ask("PATCH", "/v1/admin/settings", &[], settings.to_string()).await.expect("an answer")
}

async fn coordinator_says(client: &mut Client, field: &str) -> Value {
    client.get("/v1/coordinator").await.expect("an answer").json()[field].clone()
}

#[test]
fn another_policy_takes_over_all_coflows_while_clients_go_on() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &["--policy", "fifo"]);
    let present = block_on(async {
        let token = token(&folder);
        let hosts: Vec<Fluid> = (0..4).map(|_| Fluid::of(1e15)).collect();
        (0..4).for_each(|port| hosts[port as usize].join(coordinator.agents, &token, port));
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        let sized = |bytes: f64| json!({"flows": [{"src": 0, "dst": 1, "bytes": bytes}]});
        let mut ids = Vec::new();
        for body in [sized(9e9), sized(1e9)] {
            let answer = client.ask("POST", "/v1/coflows", &[], body.to_string()).await.unwrap();
            ids.push(answer.json()["id"].as_u64().unwrap());
        }
        let unsized_one = json!({"flows": [{"src": 2, "dst": 3}]}).to_string();
        let answer = client.ask("POST", "/v1/coflows", &[], unsized_one).await.unwrap();
        ids.push(answer.json()["id"].as_u64().unwrap());
        let served = |flows: &Fluid| flows.flows().rates.keys().map(|key| key.coflow).collect();
        until(10, "the first is served", async || {
            let served: Vec<u64> = served(&hosts[0]);
            served == [ids[0]]
        })
        .await;
        let epoch = coordinator_says(&mut client, "epoch").await.as_u64().unwrap();

        // Others register all the time.
        let address = coordinator.clients;
        let registering = tokio::spawn(async move {
            let mut client = connect(address, &token).await.expect("a connection");
            let mut ids = Vec::new();
            for _ in 0..200 {
                ids.push(register(&mut client, &[(3, 2)]).await);
            }
            ids
        });
        let changed = change(&mut client, json!({"policy": "sebf"})).await;
        assert_eq!(changed.status, 200);
        let changed = changed.json();
        assert_eq!(changed["settings"]["policy"], "sebf");
        assert_eq!(changed["settings"]["max_coflows"], 100_000);
        assert_eq!(changed["coflows_without_sizes"], 1);
        assert_eq!(changed["without_sizes"][0], ids[2]);
        assert_eq!(coordinator_says(&mut client, "policy").await, "sebf");
        assert_eq!(coordinator_says(&mut client, "epoch").await, epoch + 1);
        until(10, "agents join again", async || joined(&mut client).await == 4).await;
        until(10, "the shorter is served", async || {
            let served: Vec<u64> = served(&hosts[0]);
            served == [ids[1]]
        })
        .await;
        // And back, to a policy that needs no sizes.
        assert_eq!(change(&mut client, json!({"policy": "fifo"})).await.status, 200);
        ids.extend(registering.await.expect("all are registered"));
        for id in &ids {
            assert!(["active", "waiting"].contains(&state(&mut client, *id).await.as_str()));
        }
        ids
    });
    coordinator.restart(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let page = client.get("/v1/coflows?limit=1000").await.unwrap().json();
        let items = page["items"].as_array().unwrap().iter();
        assert_eq!(items.map(|it| it["id"].as_u64().unwrap()).collect::<Vec<_>>(), present);
    });
}

#[test]
fn settings_that_cannot_be_leave_all_as_it_was() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        register(&mut client, &[(0, 1)]).await;
        for (settings, status, problem) in [
            (json!({"policy": "sebv"}), 422, "policy: unknown policy 'sebv'"),
            (json!({"policy": "stream"}), 422, "policy: policy stream decides at receivers"),
            (json!({"policy": "coda"}), 422, "policy: the journal has 1 coflows"),
            (json!({"max_coflows": 0}), 422, "max_coflows: expected 1 to 1000000000, found 0"),
            (json!({"lease_s": -1}), 422, "lease_s: expected 0.1 to 86400, found -1"),
            (json!({"max_flow": 1}), 400, "max_flow: unknown field"),
            (json!([]), 400, "invalid type: sequence, expected an object"),
        ] {
            let answer = change(&mut client, settings.clone()).await;
            let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
            assert_eq!(answer.status, status, "{settings}: {detail}");
            assert!(detail.starts_with(problem), "{settings}: {detail}");
        }
        assert_eq!(coordinator_says(&mut client, "policy").await, "covey");

        assert_eq!(change(&mut client, json!({"max_coflows": 1})).await.status, 200);
        let body = || coflow(&[(0, 1)]);
        let refused = client.ask("POST", "/v1/coflows", &[], body()).await.unwrap();
        assert_eq!(refused.status, 429);
        let read_only = json!({"max_coflows": 9, "read_only": true});
        assert_eq!(change(&mut client, read_only).await.status, 200);
        let refused = client.ask("POST", "/v1/coflows", &[], body()).await.unwrap();
        assert_eq!((refused.status, &refused.json()["title"]), (503, &Value::from("read only")));
        assert_eq!(client.get("/readyz").await.unwrap().status, 503);
        assert_eq!(client.get("/v1/coflows/0").await.unwrap().status, 200);
        let again = change(&mut client, json!({"read_only": false})).await.json();
        assert_eq!(again["settings"]["max_coflows"], 9, "what is not named stays");
        register(&mut client, &[(0, 1)]).await;

        let register_only = ["token", "new", "app", "--rights", "read,register", "--data", "data"];
        let app = folder.results(&register_only).trim().to_owned();
        let mut client = connect(coordinator.clients, app.as_bytes()).await.unwrap();
        until(15, "the token is read", async || {
            client.get("/v1/coflows").await.unwrap().status == 200
        })
        .await;
        assert_eq!(change(&mut client, json!({"read_only": true})).await.status, 403);
        assert_eq!(client.get("/v1/admin/settings").await.unwrap().status, 403);
    });
}

#[test]
fn a_hangup_reads_the_settings_again() {
    let folder = TestFolder::new();
    folder.write("covey.toml", "[serve]\npolicy = \"aalo\"\nmax-coflows = 5\n");
    let more = ["--config", "covey.toml"];
    let mut command = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &more);
    let log = std::fs::File::create(folder.path("log")).unwrap();
    let coordinator = Coordinator::spawn(command.stdin(Stdio::null()).stderr(log));
    let hang_up = || {
        let process = coordinator.process.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &process]).status().unwrap().success());
    };
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let id = register(&mut client, &[(0, 1)]).await;
        folder.write("covey.toml", "[serve]\npolicy = \"philae\"\nmax-coflows = 1\nthreads = 3\n");
        hang_up();
        until(10, "the policy is read", async || {
            coordinator_says(&mut client, "policy").await == "philae"
        })
        .await;
        assert_eq!(state(&mut client, id).await, "active");
        let refused = client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        assert_eq!(refused.status, 429);
        folder.write("covey.toml", "[serve]\npolicy = \"philae\"\nheartbeat = \"1500ms\"\n");
        hang_up();
        until(10, "it says what waits", async || folder.read("log").contains("the next start")).await;
        folder.write("covey.toml", "[serve]\npolicy = \"phil\"\n");
        hang_up();
        until(10, "it says what is wrong", async || folder.read("log").contains("'phil'")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(coordinator_says(&mut client, "policy").await, "philae");
    });
}
