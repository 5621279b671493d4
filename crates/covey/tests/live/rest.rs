//! Requests of clients.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::TestFolder;
use crate::harness::{
    Coordinator, block_on, coflow, connect, metric, register, state, token, watch,
};

#[test]
fn coflows_are_registered_read_changed_and_removed() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let body = coflow(&[(0, 1), (0, 2)]);
        let key = [("Idempotency-Key", "one")];
        let first = client.ask("POST", "/v1/coflows", &key, body.clone()).await.unwrap();
        assert_eq!((first.status, first.json()["state"].as_str()), (201, Some("active")));
        let id = first.json()["id"].as_u64().unwrap();
        let again = client.ask("POST", "/v1/coflows", &key, body).await.unwrap();
        assert_eq!((again.status, again.json()["id"].as_u64()), (201, Some(id)));
        let other = client.ask("POST", "/v1/coflows", &key, coflow(&[(1, 2)])).await.unwrap();
        assert_eq!(other.status, 422);
        // A whole number may be written in any form.
        let child = json!({"parents": [id as f64], "flows": [{"src": 3, "dst": 1}]}).to_string();
        let child = client.ask("POST", "/v1/coflows", &[], child).await.unwrap().json();
        assert_eq!((child["lineage"].as_str(), child["id"].as_u64()), (Some("0.1"), Some(id + 1)));

        let path = format!("/v1/coflows/{id}");
        let tag = client.get(&path).await.unwrap().etag.unwrap();
        let update = json!({"add": [{"src": 2, "dst": 3}], "restart": [0]}).to_string();
        let headers = [("If-Match", tag.as_str())];
        let changed = client.ask("PATCH", &path, &headers, update.clone()).await.unwrap();
        assert_eq!((changed.status, changed.json()["flows"].as_u64()), (200, Some(3)));
        let late = client.ask("PATCH", &path, &headers, update).await.unwrap();
        assert_eq!(late.status, 412);
        for (tag, status) in [("\"x\"", 412), ("", 400), ("0", 412)] {
            let answer = client.ask("PATCH", &path, &[("If-Match", tag)], "{}").await.unwrap();
            assert_eq!(answer.status, status, "{tag}");
        }
        for (update, says) in [
            (json!({"restart": [0, 9]}), "restart[1]: coflow 0 has no flow 9"),
            (json!({"restart": [0, 0]}), "restart[1]: flow 0 is named twice"),
            (
                json!({"move": [{"flow": 1, "to": {"src": 9, "dst": 2}}]}),
                "move[0].to.src: expected",
            ),
        ] {
            let refused = client.ask("PATCH", &path, &[], update.to_string()).await.unwrap();
            let detail = refused.json()["detail"].as_str().unwrap().to_owned();
            assert_eq!(refused.status, 422);
            assert!(detail.starts_with(says), "{detail}");
        }
        let moved = json!({"move": [{"flow": 1, "to": {"src": 3, "dst": 2}}]}).to_string();
        let moved = client.ask("PATCH", &path, &[], moved).await.unwrap().json();
        assert_eq!((moved["flows"].as_u64(), moved["flows_ended"].as_u64()), (Some(4), Some(1)));

        let page = client.get("/v1/coflows?limit=1").await.unwrap().json();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (1, &json!("1")));
        let page = client.get("/v1/coflows?limit=1&cursor=1").await.unwrap().json();
        assert_eq!((page["items"][0]["id"].as_u64(), page.get("next")), (Some(id + 1), None));
        let rates = client.get("/v1/schedule").await.unwrap().json();
        assert!(!rates["items"].as_array().unwrap().is_empty());

        for _ in 0..2 {
            let removed = client.ask("DELETE", &path, &[], "").await.unwrap();
            assert_eq!(removed.status, 204);
        }
        assert_eq!(client.get(&path).await.unwrap().json()["state"], "removed");
        let metrics = client.get("/metrics").await.unwrap();
        let metrics = String::from_utf8(metrics.body).unwrap();
        assert!(metrics.contains("\ncovey_coflows_registered_total 2\n"), "{metrics}");
        assert!(metrics.contains("\ncovey_coflows_gone_total 1\n"), "{metrics}");
    });
}

#[test]
fn invalid_requests_get_a_problem_and_change_nothing() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--policy", "sebf", "--max-coflows", "1"]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        for (method, path, body, status, says) in [
            ("POST", "/v1/coflows", "{", 400, "malformed body"),
            ("POST", "/v1/coflows", "{\"flows\":[],\"x\":1}", 400, "\"x: unknown field `x`"),
            ("POST", "/v1/coflows", "{\"flows\":\"all\"}", 400, "\"flows: invalid type: string"),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[{\"src\":0,\"dst\":1},{\"src\":0,\"dst\":\"1\"}]}",
                400,
                "\"flows[1].dst: invalid type: string",
            ),
            (
                "PATCH",
                "/v1/coflows/7",
                "{\"move\":[{\"flow\":0,\"to\":{\"src\":[],\"dst\":1}}]}",
                400,
                "\"move[0].to.src: invalid type: sequence",
            ),
            ("POST", "/v1/coflows", "{\"flows\":[]}", 422, "at least one"),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[{\"src\":0.5,\"dst\":1}]}",
                400,
                "expected a whole number of at most 32 bits",
            ),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[{\"src\":0,\"dst\":4}]}",
                422,
                "a port below 4, found 4",
            ),
            ("POST", "/v1/coflows", "{\"flows\":[{\"src\":0,\"dst\":1}]}", 422, "must know sizes"),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[],\"open\":true,\"parents\":[9]}",
                422,
                "parents[0]: coflow 9 is not known",
            ),
            (
                "POST",
                "/v1/coflows",
                &json!({"flows": [], "open": true, "parents": vec![0; 1025]}).to_string(),
                422,
                "parents: expected at most 1024, found 1025",
            ),
            ("POST", "/v1/coflows", "{\"flows\":[],\"open\":true,\"weight\":0}", 422, "weight"),
            ("POST", "/v1/coflows", "{\"flows\":[],\"open\":true,\"lease_s\":0.5}", 422, "lease_s"),
            ("GET", "/v1/coflows/7", "", 404, "coflow 7 is not known"),
            ("GET", "/v1/coflows/x", "", 404, "'x' is no number"),
            ("PATCH", "/v1/coflows/7", "{}", 404, "coflow 7"),
            ("DELETE", "/v1/coflows/7", "", 404, "coflow 7"),
            ("GET", "/v1/coflows?limit=0", "", 400, "limit"),
            ("GET", "/v1/coflows?cursor=x", "", 400, "cursor"),
            ("GET", "/v1/agents?x=1", "", 400, "unknown parameter 'x'"),
            ("PUT", "/v1/coflows", "", 405, "openapi"),
            ("GET", "/v2", "", 404, "openapi"),
        ] {
            let answer = client.ask(method, path, &[], body.to_owned()).await.unwrap();
            let text = String::from_utf8(answer.body.clone()).unwrap();
            assert_eq!(answer.status, status, "{method} {path} {body}: {text}");
            assert!(text.contains(says), "{method} {path} {body}: {text}");
            assert_eq!(answer.json()["status"], status);
        }
        let open = json!({"flows": [], "open": true}).to_string();
        assert_eq!(client.ask("POST", "/v1/coflows", &[], open.clone()).await.unwrap().status, 201);
        assert_eq!(client.ask("POST", "/v1/coflows", &[], open).await.unwrap().status, 429);

        let mut stranger = connect(coordinator.clients, b"wrong").await.unwrap();
        assert_eq!(stranger.get("/v1/coflows").await.unwrap().status, 401);
        assert_eq!(stranger.get("/metrics").await.unwrap().status, 401);
        assert_eq!(stranger.get("/livez").await.unwrap().status, 200);
        let metrics = client.get("/metrics").await.unwrap().body;
        assert!(String::from_utf8(metrics).unwrap().contains("covey_refused_tokens_total 2\n"));
    });
}

/// Requests of clients of the version before, and the fields that they read.
const BEFORE: &str = include_str!("../data/rest-before.json");

#[test]
fn requests_and_the_journal_are_measured() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        register(&mut client, &[(0, 1)]).await;
        register(&mut client, &[(1, 2)]).await;
        for path in ["/v1/coflows/0", "/v1/coflows/1", "/v1/coflows/7", "/nowhere"] {
            client.get(path).await.unwrap();
        }
        client.ask("BREW", "/v1/coflows", &[], "").await.unwrap();
        let requests = |route: &str, method: &str, status: u16| {
            let name = "covey_http_requests_total";
            format!("{name}{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}}")
        };
        for (name, value) in [
            (requests("/v1/coflows", "POST", 201), 2.0),
            (requests("/v1/coflows/{id}", "GET", 200), 2.0),
            (requests("/v1/coflows/{id}", "GET", 404), 1.0),
            (requests("/v1/coflows", "other", 405), 1.0),
            (requests("none", "GET", 404), 1.0),
            ("covey_journal_sync_seconds_count".to_owned(), 2.0),
            (format!("covey_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0),
        ] {
            assert_eq!(metric(&mut client, &name).await, value, "{name}");
        }
        let took = "covey_http_request_duration_seconds_sum{route=\"/v1/coflows\",method=\"POST\"}";
        // The answer to a registration waits for the disk.
        assert!(
            metric(&mut client, took).await
                >= metric(&mut client, "covey_journal_sync_seconds_sum").await
        );
    });
}

#[test]
fn clients_of_the_version_before_are_answered_as_they_were() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--policy", "fifo"]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let cases: Vec<Value> = serde_json::from_str(BEFORE).expect("JSON");
        for case in cases {
            let [method, path, body] = [0, 1, 2].map(|k| &case["ask"][k]);
            let (method, path) = (method.as_str().unwrap(), path.as_str().unwrap());
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let answer = client.ask(method, path, &[], body).await.unwrap();
            assert_eq!(json!(answer.status), case["status"], "{method} {path}");
            for field in case["has"].as_array().unwrap() {
                let field = field.as_str().unwrap();
                assert!(!answer.json()[field].is_null(), "{method} {path}: no {field}");
            }
        }
    });
}

#[test]
fn a_signal_ends_the_coordinator_in_an_orderly_way() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let id = block_on(async {
        let mut client = coordinator.client(&folder).await;
        let answer = client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        answer.json()["id"].as_u64().unwrap()
    });
    let process = coordinator.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert_eq!(coordinator.process.wait().unwrap().code(), Some(0));
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        assert_eq!(state(&mut client, id).await, "active");
    });
}

#[test]
fn a_watcher_receives_events_and_missed_events() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        for _ in 0..2 {
            client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        }
        client.ask("DELETE", "/v1/coflows/0", &[], "").await.unwrap();
    });
    let token = token(&folder);
    // After the first event of this epoch, the registration of coflow 0.
    let missed = watch(&coordinator, &token, "Last-Event-ID: 1-0\r\n", "removed");
    assert!(!missed.contains(r#"{"type":"registered","id":0}"#), "{missed}");
    assert!(missed.contains(r#"{"type":"registered","id":1}"#), "{missed}");
    assert!(missed.contains("id: 1-2\n"), "{missed}");
    // An event of another epoch.
    let gone = watch(&coordinator, &token, "Last-Event-ID: 0-7\r\n", "HTTP");
    assert!(gone.starts_with("HTTP/1.1 410"), "{gone}");
}
