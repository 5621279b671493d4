//! Tokens with names and rights.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use covey_api::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::certificates::hang_up;
use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, Killed, agent, block_on, coflow, connect, metric, token, until,
};

/// Makes a token with the command line.
fn new(folder: &TestFolder, name: &str, more: &[&str]) -> String {
    let arguments = [&["token", "new", name, "--data", "data"], more].concat();
    folder.results(&arguments).trim().to_owned()
}

async fn status(client: &mut Client, method: &str) -> u16 {
    let body = if method == "POST" { coflow(&[(0, 1)]) } else { Vec::new() };
    client.ask(method, "/v1/coflows", &[], body).await.expect("an answer").status
}

#[test]
fn a_token_gives_its_rights_until_it_is_revoked_or_expires() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::logged(&folder, &[]);
    let reader = new(&folder, "reader", &["--rights", "read"]);
    let writer = new(&folder, "writer", &["--rights", "register"]);
    let short = new(&folder, "short", &["--expires", "2s"]);
    hang_up(&coordinator);
    block_on(async {
        let mut all = coordinator.client(&folder).await;
        let client = async |token: &str| {
            connect(coordinator.clients, token.as_bytes()).await.expect("a connection")
        };
        let mut readers = client(&reader).await;
        until(10, "it is read", async || status(&mut readers, "GET").await == 200).await;
        let (mut writers, mut shorts) = (client(&writer).await, client(&short).await);
        assert_eq!(status(&mut shorts, "GET").await, 200);
        assert_eq!((status(&mut writers, "POST").await, status(&mut all, "GET").await), (201, 200));
        let refused = readers.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        assert_eq!(refused.status, 403);
        let detail = refused.json()["detail"].as_str().expect("a text").to_owned();
        assert_eq!(detail, "the token 'reader' lacks the right register");
        assert_eq!(status(&mut writers, "GET").await, 403);
        until(10, "it expires", async || status(&mut shorts, "GET").await == 401).await;
        let mut events = TcpStream::connect(coordinator.clients).await.unwrap();
        let head = "GET /v1/events HTTP/1.1\r\nHost: covey\r\nAuthorization: Bearer";
        events.write_all(format!("{head} {reader}\r\n\r\n").as_bytes()).await.unwrap();
        let mut first = [0; 12];
        events.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        assert_eq!(folder.covey(&["token", "revoke", "reader", "--data", "data"]).status, Some(0));
        // Nobody says that it has changed.
        until(10, "it is revoked", async || status(&mut readers, "GET").await == 401).await;
        let ends = async {
            let mut rest = Vec::new();
            while !rest.ends_with(b"0\r\n\r\n") {
                assert!(events.read_buf(&mut rest).await.unwrap() > 0, "the last chunk comes");
            }
        };
        timeout(Duration::from_secs(10), ends).await.expect("events end with the token");
        let count = "covey_requests_total{token=\"writer\",status=\"2xx\"}";
        assert_eq!(metric(&mut all, count).await, 1.0);
        let count = "covey_requests_total{token=\"reader\",status=\"4xx\"}";
        assert_eq!(metric(&mut all, count).await, 1.0);
        let count = "covey_refusals_total{door=\"clients\",reason=\"right\"}";
        assert_eq!(metric(&mut all, count).await, 2.0);
    });
    assert!(folder.read("log").contains("the token 'reader' lacks the right register"));
    let list = folder.results(&["token", "list", "--data", "data"]);
    assert!(list.contains("expired") && list.contains("the file token"), "{list}");
    assert!(!list.contains(&writer) && !folder.read("data/tokens").contains(&writer));
}

#[test]
fn a_coflow_belongs_to_the_token_that_registered_it() {
    let folder = TestFolder::new();
    let rights = "read,register";
    let [anna, berta, root] = [
        new(&folder, "anna", &["--rights", rights, "--tenant", "lab"]),
        new(&folder, "berta", &["--rights", rights]),
        new(&folder, "root", &["--rights", "operate"]),
    ];
    let mut coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let key = [("idempotency-key", "job")];
        let register = async |client: &mut Client, flows| {
            let answer = client.ask("POST", "/v1/coflows", &key, coflow(flows)).await.unwrap();
            (answer.status, answer.json()["id"].as_u64())
        };
        for epoch in 0..2 {
            let client = async |token: &str| connect(coordinator.clients, token.as_bytes()).await;
            let mut anna = client(&anna).await.expect("a connection");
            let mut berta = client(&berta).await.expect("a connection");
            assert_eq!(register(&mut anna, &[(0, 1)]).await, (201, Some(0)));
            // The same key of another token is another key.
            assert_eq!(register(&mut berta, &[(1, 2)]).await, (201, Some(1)));
            let take = r#"{"take":[0]}"#.as_bytes().to_vec();
            for (method, path, body) in [
                ("PATCH", "/v1/coflows/0", br#"{"open":true}"#.to_vec()),
                ("PATCH", "/v1/coflows/1", take),
                ("POST", "/v1/coflows/0/keep", Vec::new()),
                ("DELETE", "/v1/coflows/0", Vec::new()),
            ] {
                let answer = berta.ask(method, path, &[], body).await.unwrap();
                assert_eq!(answer.status, 403, "{method} {path} {epoch}");
                let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
                assert!(detail.starts_with("coflow 0 belongs to the token 'anna'"), "{detail}");
            }
            let shown = berta.ask("GET", "/v1/coflows/0", &[], Vec::new()).await.unwrap().json();
            assert_eq!((&shown["owner"], &shown["tenant"]), (&json!("anna"), &json!("lab")));
            let list = berta.ask("GET", "/v1/coflows", &[], Vec::new()).await.unwrap().json();
            assert_eq!(list["items"][1]["tenant"], "berta");
            if epoch == 0 {
                coordinator.restart(&folder, &[]);
            }
        }
        let mut root = connect(coordinator.clients, root.as_bytes()).await.expect("a connection");
        for (method, path) in [
            ("POST", "/v1/coflows/0/keep"),
            ("DELETE", "/v1/coflows/0"),
            ("DELETE", "/v1/coflows/1"),
        ] {
            let answer = root.ask(method, path, &[], Vec::new()).await.unwrap();
            assert!(answer.status < 300, "{method} {path}: {}", answer.status);
        }
    });
    let list = folder.results(&["token", "list", "--data", "data"]);
    let line =
        |name: &str| list.lines().find(|line| line.starts_with(name)).expect(name).to_owned();
    assert!(line("anna").contains(" lab ") && line("berta").matches("berta").count() == 2);
}

#[test]
fn a_token_has_limits_which_change_with_the_file() {
    let folder = TestFolder::new();
    let register = ["--rights", "read,register", "--limit"];
    let hostile =
        new(&folder, "hostile", &[&register[..], &["coflows=2", "--limit", "ports=0-2"]].concat());
    let fast = new(&folder, "fast", &[&register[..], &["requests=1"]].concat());
    let other = new(&folder, "other", &register[..2]);
    let coordinator = Coordinator::new(&folder, &["--max-gone", "20"]);
    block_on(async {
        let client = async |token: &str| connect(coordinator.clients, token.as_bytes()).await;
        let mut hostile = client(&hostile).await.expect("a connection");
        let mut other = client(&other).await.expect("a connection");
        let post = async |client: &mut Client, flows| {
            client.ask("POST", "/v1/coflows", &[], coflow(flows)).await.expect("an answer")
        };
        assert_eq!(post(&mut hostile, &[(0, 1)]).await.status, 201);
        assert_eq!(post(&mut hostile, &[(1, 2)]).await.status, 201);
        let refused = post(&mut hostile, &[(1, 2)]).await;
        let problem = refused.json();
        assert_eq!((refused.status, &problem["limit"]), (429, &json!("coflows")));
        assert_eq!(problem["token"], "hostile");
        let refused = post(&mut hostile, &[(1, 3)]).await;
        assert_eq!((refused.status, &refused.json()["limit"]), (403, &json!("ports")));
        // What it does leaves others alone: they register, and what has gone of them is remembered.
        let kept = post(&mut other, &[(3, 0)]).await;
        assert_eq!(kept.status, 201);
        let path = format!("/v1/coflows/{}", kept.json()["id"]);
        assert_eq!(other.ask("DELETE", &path, &[], Vec::new()).await.unwrap().status, 204);
        for id in 0..60 {
            let made = post(&mut hostile, &[(0, 1)]).await;
            let id = if id < 2 { json!(id) } else { made.json()["id"].clone() };
            let path = format!("/v1/coflows/{id}");
            assert_eq!(hostile.ask("DELETE", &path, &[], Vec::new()).await.unwrap().status, 204);
        }
        let gone = other.ask("GET", &path, &[], Vec::new()).await.unwrap();
        assert_eq!((gone.status, &gone.json()["state"]), (200, &json!("removed")));
        // One request a second, of which a second's worth may come at once.
        let mut fast = client(&fast).await.expect("a connection");
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(fast.ask("GET", "/v1/coflows", &[], Vec::new()).await.unwrap().status);
        }
        assert!(statuses[0] == 200 && statuses.contains(&429), "{statuses:?}");
        for (name, value) in [
            ("covey_limited_total{token=\"hostile\",limit=\"ports\"}", 1.0),
            ("covey_token_gone{token=\"other\"}", 1.0),
        ] {
            // What tokens have is looked at now and then.
            let line = format!("{name} {value}");
            until(10, &line, async || {
                let answer = other.ask("GET", "/metrics", &[], Vec::new()).await.unwrap();
                String::from_utf8_lossy(&answer.body).lines().any(|it| it == line)
            })
            .await;
        }
        let set = ["token", "set", "hostile", "--limit", "coflows=none", "--data", "data"];
        assert_eq!(folder.results(&set), "changed hostile\n");
        hang_up(&coordinator);
        until(10, "it may have more", async || {
            let made = [post(&mut hostile, &[(0, 1)]).await, post(&mut hostile, &[(0, 1)]).await];
            let third = post(&mut hostile, &[(0, 1)]).await;
            made.iter().all(|it| it.status == 201) && third.status == 201
        })
        .await;
    });
    let list = folder.results(&["token", "list", "--data", "data"]);
    assert!(list.contains("ports=0-2\n") && list.contains("requests=1\n"), "{list}");
}

#[test]
fn an_agent_needs_the_right_to_operate_and_the_single_token_may_go() {
    let folder = TestFolder::new();
    let (hosts, reads) = (
        new(&folder, "hosts", &["--rights", "operate"]),
        new(&folder, "reads", &["--rights", "read"]),
    );
    let coordinator = Coordinator::logged(&folder, &[]);
    assert!(!folder.path("data/token").exists(), "there are others");
    block_on(async {
        let mut client = connect(coordinator.clients, reads.as_bytes()).await.unwrap();
        Fluid::default().join(coordinator.agents, hosts.as_bytes(), 0);
        Fluid::default().join(coordinator.agents, reads.as_bytes(), 1);
        until(10, "one joins", async || metric(&mut client, "covey_agents").await == 1.0).await;
        let refused = "covey_refusals_total{door=\"agents\",reason=\"credential\"}";
        until(10, "one does not", async || metric(&mut client, refused).await == 1.0).await;
        assert_eq!(folder.covey(&["token", "revoke", "hosts", "--data", "data"]).status, Some(0));
        until(10, "it is cut off", async || metric(&mut client, "covey_agents").await == 0.0).await;
        // It may have tried to join again.
        assert!(metric(&mut client, refused).await >= 2.0);
    });
}

#[test]
fn the_folder_and_its_files_are_for_their_owner() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    new(&folder, "ci", &[]);
    let mode = |name: &str| {
        let found = std::fs::metadata(folder.path(name)).expect(name);
        found.permissions().mode() & 0o777
    };
    new(&folder, "file", &["--output", "secret"]);
    assert_eq!((mode("secret"), folder.read("secret").len()), (0o600, 6 + 64 + 1));
    assert_eq!(mode("data"), 0o700);
    for name in ["data/journal", "data/ids", "data/token", "data/tokens", "data/flow-secret"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    drop(coordinator);
    for (arguments, expected) in [
        (
            &["new", "a b"][..],
            "NAME: expected a new name of letters, digits and -_. only, found 'a b'",
        ),
        (&["new", "ci"], "NAME: expected a new name"),
        (
            &["new", "x", "--rights", "write"],
            "--rights: expected one or more of read, register, operate, found 'write'",
        ),
        (&["new", "x", "--expires", "soon"], "--expires: "),
        (
            &["new", "x", "--tenant", "a b"],
            "--tenant: expected a tenant of letters, digits and -_.",
        ),
        (&["new", "x", "--output", "secret"], "--output: secret: File exists"),
        (&["new", "x", "--limit", "coflow=1"], "--limit: expected one of coflows=N, "),
        (&["set", "cj"], "NAME: expected one of ci, file, found 'cj'"),
        (&["revoke", "cj"], "NAME: expected one of ci, file, found 'cj'"),
    ] {
        let refusal = folder.refusal(&[&["token"], arguments, &["--data", "data"]].concat());
        assert!(refusal.starts_with(expected), "{refusal}");
    }
}

#[test]
fn the_audit_log_names_tokens() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--audit-log", "audit"]);
    let writer = new(&folder, "writer", &["--rights", "register"]);
    let reader = new(&folder, "reader", &["--rights", "read"]);
    hang_up(&coordinator);
    block_on(async {
        let client = async |token: &str| {
            connect(coordinator.clients, token.as_bytes()).await.expect("a connection")
        };
        let (mut writers, mut readers) = (client(&writer).await, client(&reader).await);
        until(10, "it is read", async || status(&mut readers, "GET").await == 200).await;
        assert_eq!(status(&mut writers, "POST").await, 201);
        assert_eq!(status(&mut readers, "POST").await, 403);
        assert_eq!(status(&mut coordinator.client(&folder).await, "POST").await, 201);
        for (path, body) in
            [("/v1/coflows/0/keep", ""), ("/v1/flows/community", r#"{"community":7,"flows":[]}"#)]
        {
            let body = body.as_bytes().to_vec();
            writers.ask("POST", path, &[], body).await.expect("an answer");
        }
        // Lines are written in this order, by a thread of their own.
        let last = "\"action\":\"community\"";
        until(10, "it is written", async || {
            let audit = folder.read("audit");
            audit.ends_with('\n') && audit.contains(last)
        })
        .await;
        let tokens = || -> Vec<String> {
            let audit = folder.read("audit");
            let entries = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let registered = entries.filter(|entry| entry["action"] == "register");
            registered.map(|entry| format!("{} {}", entry["token"], entry["status"])).collect()
        };
        assert_eq!(tokens(), ["\"writer\" 201", "\"token\" 201"]);
        let audit = folder.read("audit");
        for action in ["keep", "community"] {
            let line = |line: &&str| line.contains(&format!("\"action\":\"{action}\""));
            let line = audit.lines().find(line).unwrap_or_else(|| panic!("{action}: {audit}"));
            assert!(line.contains("\"token\":\"writer\""), "{line}");
        }
    });
}

#[test]
fn status_and_top_need_the_right_to_read_alone_and_find_a_coordinator_by_its_name() {
    let folder = TestFolder::new();
    folder.results(&["serve", "--init", "--data", "data"]);
    std::fs::create_dir(folder.path("client")).expect("a folder");
    std::fs::copy(folder.path("data/ca.pem"), folder.path("client/ca.pem")).expect("a file");
    new(&folder, "reader", &["--output", "client/token"]);
    let coordinator = Coordinator::new(&folder, &[]);
    let address = format!("localhost:{}", coordinator.clients.port());
    let client = ["--coordinator", &address, "--credentials", "client"];
    for command in [&["status"][..], &["top", "--once"]] {
        let shown = folder.results(&[command, &client].concat());
        assert!(shown.starts_with("coordinator  ready; covey "), "{shown}");
    }
    new(&folder, "writer", &["--rights", "register", "--output", "client/other"]);
    hang_up(&coordinator);
    std::fs::rename(folder.path("client/other"), folder.path("client/token")).expect("a file");
    block_on(until(10, "it is read", async || {
        let ran = folder.covey(&[&["status"], &client[..]].concat());
        ran.status == Some(1) && ran.err.contains("the token 'writer' lacks the right read")
    }));
}

#[test]
fn the_socket_may_be_for_a_group() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    let _ = token(&folder);
    let own = rustix::process::getegid().as_raw().to_string();
    let mut command = agent(&folder, &coordinator, "0", &folder.path("data"));
    let _agent = Killed(command.args(["--socket-group", &own]).spawn().expect("an agent"));
    block_on(async {
        let socket = folder.path("data/agent.sock");
        until(10, "it listens", async || socket.exists()).await;
        let found = std::fs::metadata(&socket).expect("a socket");
        assert_eq!(found.permissions().mode() & 0o777, 0o660);
    });
    let agent = ["agent", "--port", "1", "--credentials", "data"];
    for (more, expected) in [
        (["--socket-mode", "rw"], "--socket-mode: expected a mode in octal, like 0660, found 'rw'"),
        (["--socket-mode", "4777"], "--socket-mode: expected a mode in octal"),
        (
            ["--socket-group", "no-such-group"],
            "--socket-group: expected a group that this host knows",
        ),
        (["--max-apps", "0"], "--max-apps: expected from 1 to 1000000, found 0"),
    ] {
        let refusal = folder.refusal(&[&agent[..], &more].concat());
        assert!(refusal.starts_with(expected), "{refusal}");
    }
}
