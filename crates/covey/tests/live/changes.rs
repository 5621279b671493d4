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
        let served =
            |flows: &Fluid| flows.flows().rates.keys().filter_map(|name| name.coflow()).collect();
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
            (json!({"max_coflows": 0}), 422, "max_coflows: expected from 1 to 1000000000, found 0"),
            (json!({"lease_s": -1}), 422, "lease_s: expected from 0.1 to 86400, found -1"),
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
fn a_policy_that_cannot_begin_leaves_the_one_before_and_agents_join_again() {
    let folder = TestFolder::new();
    let serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &["--policy", "fifo"]);
    let mut command = Command::new("sh");
    // A write beyond the limit fails, as on a full disk.
    let script = r#"trap '' XFSZ; exec "$0" "$@""#;
    command.current_dir(folder.path(".")).args(["-c", script]).arg(serve.get_program());
    let coordinator = Coordinator::spawn(command.args(serve.get_args()));
    let process = coordinator.process.id().to_string();
    let limit = |files: &str| {
        let mut set = Command::new("prlimit");
        set.args([&format!("--fsize={files}"), "--pid", &process]);
        assert!(set.status().expect("prlimit").success());
    };
    block_on(async {
        let token = token(&folder);
        let hosts: Vec<Fluid> = (0..4).map(|_| Fluid::of(1e15)).collect();
        (0..4).for_each(|port| hosts[port as usize].join(coordinator.agents, &token, port));
        let mut client = coordinator.client(&folder).await;
        let id = register(&mut client, &[(0, 1)]).await;
        until(10, "it is served", async || !hosts[0].flows().rates.is_empty()).await;
        let epoch = coordinator_says(&mut client, "epoch").await;
        limit("1:unlimited");
        let refused = change(&mut client, json!({"policy": "sebf"})).await;
        assert_eq!((refused.status, &refused.json()["title"]), (503, &Value::from("not durable")));
        assert_eq!(coordinator_says(&mut client, "policy").await, "fifo");
        assert_eq!(coordinator_says(&mut client, "epoch").await, epoch);
        hosts[0].flows().size = 1.0;
        limit("unlimited");
        until(10, "agents join again", async || joined(&mut client).await == 4).await;
        until(10, "it ends", async || state(&mut client, id).await == "ended").await;
        until(10, "it can be written", async || {
            change(&mut client, json!({"policy": "sebf"})).await.status == 200
        })
        .await;
    });
}

#[test]
fn a_drained_port_gets_no_new_flows_and_its_last_ones_end() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let address = coordinator.clients.to_string();
    let drain = |more: &[&str]| {
        let shown = ["--coordinator", &address, "--credentials", "data"];
        folder.command(&[&["drain", "1"], &shown[..], more].concat())
    };
    let says = |command: &mut Command| {
        let ran = command.output().expect("covey drain");
        (ran.status.code(), String::from_utf8(ran.stdout).expect("text"))
    };
    let body = |flows: &[(u32, u32)]| coflow(flows);
    let present = block_on(async {
        let mut client = coordinator.client(&folder).await;
        let present = register(&mut client, &[(0, 1), (2, 3)]).await;
        let (status, text) = says(&mut drain(&["--no-wait"]));
        assert_eq!(status, Some(0));
        assert_eq!(text, "port 1 gets no new flows; 1 of 1 coflows have not ended\n");
        for flows in [[(1, 0)], [(0, 1)]] {
            let refused = client.ask("POST", "/v1/coflows", &[], body(&flows)).await.unwrap();
            assert_eq!(refused.status, 409);
            assert_eq!(refused.json()["title"], "port is drained");
        }
        let path = format!("/v1/coflows/{present}");
        let add = json!({"add": [{"src": 1, "dst": 2}]}).to_string();
        let refused = client.ask("PATCH", &path, &[], add).await.unwrap();
        assert!(refused.json()["detail"].as_str().unwrap().starts_with("add[0].src: port 1"));
        register(&mut client, &[(0, 3)]).await;
        present
    });
    // A start does not forget it.
    coordinator.restart(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let refused = client.ask("POST", "/v1/coflows", &[], body(&[(0, 1)])).await.unwrap();
        assert_eq!(refused.status, 409);
        let agents = client.get("/v1/agents").await.unwrap().json();
        assert_eq!(
            (&agents["items"][1]["draining"], &agents["items"][0]["draining"]),
            (&Value::Bool(true), &Value::Null)
        );
        let waits = drain(&[]).stdout(Stdio::piped()).spawn().expect("covey drain");
        tokio::time::sleep(Duration::from_millis(300)).await;
        let gone = client.ask("DELETE", &format!("/v1/coflows/{present}"), &[], Vec::new()).await;
        assert_eq!(gone.unwrap().status, 204);
        let ended =
            tokio::task::spawn_blocking(|| waits.wait_with_output()).await.unwrap().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert!(text.ends_with("port 1 has no flows: its host can be stopped\n"), "{text}");
        assert_eq!(
            says(&mut drain(&["--undo"])),
            (Some(0), "port 1 may get new flows\n".to_owned())
        );
        register(&mut client, &[(0, 1)]).await;
    });
}

#[test]
fn a_snapshot_of_a_running_coordinator_is_restored_and_no_number_is_given_twice() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &["--compact-above", "4KiB"]);
    let mut known = Vec::new();
    let mut later = 0;
    block_on(async {
        let (address, token) = (coordinator.clients, token(&folder));
        let mut client = connect(address, &token).await.unwrap();
        for _ in 0..20 {
            known.push(register(&mut client, &[(0, 1)]).await);
        }
        // Others register, and the journal is compacted, all the time.
        let busy = tokio::spawn(async move {
            let mut client = connect(address, &token).await.unwrap();
            let mut last = 0;
            for _ in 0..300 {
                last = register(&mut client, &[(2, 3)]).await;
            }
            last
        });
        for k in 0..5 {
            let copy = format!("copy-{k}");
            let ran = folder.covey(&["journal", "snapshot", "--data", "data", &copy]);
            assert_eq!(ran.status, Some(0), "{}", ran.err);
            assert_eq!(folder.covey(&["journal", "verify", "--data", &copy]).status, Some(0));
        }
        later = busy.await.unwrap();
        let again = folder.covey(&["journal", "snapshot", "--data", "data", "copy-0"]);
        assert_eq!(again.status, Some(2));
        assert!(again.err.contains("there is a journal"), "{}", again.err);
        let used = folder.covey(&["journal", "restore", "--data", "data", "copy-0"]);
        assert_eq!(used.status, Some(2));
        assert!(used.err.contains("another coordinator uses this folder"), "{}", used.err);
    });
    coordinator.process.kill().unwrap();
    coordinator.process.wait().unwrap();
    let restored = folder.covey(&["journal", "restore", "--data", "data", "copy-0"]);
    assert_eq!(restored.status, Some(0), "{}", restored.err);
    coordinator.restart(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        for id in &known {
            assert_eq!(state(&mut client, *id).await, "active");
        }
        let next = register(&mut client, &[(0, 1)]).await;
        assert!(next > later, "{next} was given before");
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
        until(10, "it says what waits", async || folder.read("log").contains("the next start"))
            .await;
        folder.write("covey.toml", "[serve]\npolicy = \"phil\"\n");
        hang_up();
        until(10, "it says what is wrong", async || folder.read("log").contains("'phil'")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(coordinator_says(&mut client, "policy").await, "philae");
    });
}
