//! Certificates: strict verification, renewal, more names, revocation, all without a restart.

use std::path::Path;
use std::process::{Command, Output};

use covey_api::{Client, Credentials, Endpoint};
use covey_client::{Client as Application, CoflowSpec, Flow, Options};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, block_on, metric, token, until};

/// Has a coordinator read its credentials again.
pub fn hang_up(coordinator: &Coordinator) {
    let pid = Pid::from_raw(coordinator.process.id() as i32).expect("a process");
    kill_process(pid, Signal::HUP).expect("it runs");
}

/// Runs a program of the system; `None` if there is none, which is said.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    let ran = Command::new(program).args(arguments).output();
    if ran.is_err() {
        eprintln!("not checked, because there is no {program}");
    }
    ran.ok()
}

fn assert_success(ran: Option<Output>, what: &str) {
    if let Some(ran) = ran {
        let (out, err) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{what}: {out}{err}");
    }
}

/// Verifies a certificate as strictly as RFC 5280 allows.
fn verify(folder: &Path, name: &str, purpose: &str) {
    let file = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (ca, certificate) = (file("ca.pem"), file(name));
    let arguments = ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", &ca, &certificate];
    assert_success(run("openssl", &arguments), name);
}

/// Connects as Python 3.13 does, which verifies strictly.
const PYTHON: &str = "
import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[1])
context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
for name in ('localhost', '127.0.0.1', 'coordinator.example'):
    with socket.create_connection(('127.0.0.1', int(sys.argv[2]))) as plain:
        with context.wrap_socket(plain, server_hostname=name) as tls:
            tls.sendall(b'GET /livez HTTP/1.1\\r\\nHost: covey\\r\\n\\r\\n')
            assert tls.recv(100).startswith(b'HTTP/1.1 200'), name
";

#[test]
fn strict_verifiers_accept_all_certificates_and_renewed_ones() {
    let folder = TestFolder::new();
    let init = ["serve", "--init", "--data", "data", "--name", "coordinator.example"];
    let init = [&init[..], &["--agent", "3", "--relay", "relay.example"]].concat();
    assert_eq!(folder.covey(&init).status, Some(0));
    let coordinator = Coordinator::new(&folder, &[]);
    let data = folder.path("data");
    let ca = data.join("ca.pem").to_str().expect("text").to_owned();
    for round in 0..2 {
        verify(&data, "coordinator.pem", "sslserver");
        verify(&data, "agent.pem", "sslclient");
        verify(&data.join("agents/3"), "agent.pem", "sslclient");
        verify(&data.join("relays/relay.example"), "relay.pem", "sslserver");
        verify(&data.join("relays/relay.example"), "agent.pem", "sslclient");
        let port = coordinator.clients.port().to_string();
        assert_success(run("python3", &["-c", PYTHON, &ca, &port]), "Python");
        let at = format!("coordinator.example:{port}:127.0.0.1");
        let url = format!("https://coordinator.example:{port}/livez");
        let arguments = ["--silent", "--fail", "--cacert", &ca, "--resolve", &at, &url];
        assert_success(run("curl", &arguments), "curl");
        if round == 0 {
            let renewed = folder.covey(&["certs", "renew", "--data", "data", "--ca", "--new-key"]);
            assert_eq!(renewed.status, Some(0), "{}", renewed.err);
            hang_up(&coordinator);
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    }
}

#[test]
fn certificates_are_read_again_and_revoked_ones_end_sessions() {
    let folder = TestFolder::new();
    let init = ["serve", "--init", "--data", "data", "--agent", "0-1"];
    assert_eq!(folder.covey(&init).status, Some(0));
    let coordinator = Coordinator::logged(&folder, &[]);
    let own = |port: &str| folder.path("data/agents").join(port);
    let _agents = ["0", "1"].map(|port| {
        Killed(agent(&folder, &coordinator, port, &own(port)).spawn().expect("an agent"))
    });
    block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().expect("credentials");
        let connect = async |name: &str| {
            let at: Endpoint = format!("{name}:{}", coordinator.clients.port()).parse().unwrap();
            Client::connect(at, &token(&folder), Some(tls.clone())).await
        };
        let mut client = connect("localhost").await.expect("a connection");
        until(10, "agents join", async || metric(&mut client, "covey_agents").await == 2.0).await;
        let left = "covey_certificate_expires_in_seconds{certificate=\"coordinator\"}";
        assert!((1.5e8..1.6e8).contains(&metric(&mut client, left).await));
        // A name that the certificate does not have, and then has.
        assert!(connect("127.0.0.2").await.is_err());
        let more = ["certs", "add-name", "--data", "data", "127.0.0.2", "--days", "10"];
        assert_eq!(folder.covey(&more).status, Some(0));
        // Nobody says that it has changed.
        until(10, "it is read again", async || metric(&mut client, left).await < 1e6).await;
        assert!(folder.read("log").contains("coordinator.pem expires soon"));
        let revoked = folder.covey(&["certs", "revoke", "--data", "data", "agents/1"]);
        assert_eq!(revoked.status, Some(0), "{}", revoked.err);
        hang_up(&coordinator);
        until(10, "one is out", async || metric(&mut client, "covey_agents").await == 1.0).await;
        let page = client.get("/v1/agents").await.expect("an answer").json();
        assert_eq!(page["items"][0]["state"], "joined");
        let refusals = "covey_refusals_total{door=\"agents\",reason=\"handshake\"}";
        until(10, "it tries again", async || metric(&mut client, refusals).await > 0.0).await;
        // A new certificate with a new key lets it in again, without a restart.
        let renewed = ["certs", "renew", "--data", "data", "agents/1", "--new-key"];
        assert_eq!(folder.covey(&renewed).status, Some(0));
        until(10, "it is back", async || metric(&mut client, "covey_agents").await == 2.0).await;
    });
    let log = folder.read("log");
    assert!(log.contains("the certificate is revoked") && log.contains("port=1"), "{log}");
    let list = folder.results(&["certs", "list", "--data", "data"]);
    assert_eq!(list.lines().filter(|line| line.contains("(revoked)")).count(), 1, "{list}");
    assert_eq!(list.lines().filter(|line| line.contains("(replaced)")).count(), 1, "{list}");
    assert_eq!(list.lines().count(), 1 + 6, "{list}");
}

/// Applications have a folder of their own, with copies of what they need.
#[test]
fn an_application_trusts_each_ca_of_its_file_and_nobody_who_is_revoked() {
    let folder = TestFolder::new();
    for data in ["data", "other"] {
        folder.results(&["serve", "--init", "--data", data]);
    }
    let coordinator = Coordinator::new(&folder, &[]);
    std::fs::create_dir(folder.path("client")).expect("a folder");
    std::fs::copy(folder.path("data/token"), folder.path("client/token")).expect("a file");
    folder.write("client/ca.pem", folder.read("other/ca.pem") + &folder.read("data/ca.pem"));
    block_on(async {
        let register = async || {
            let options = Options {
                agent: None,
                coordinator: Some(coordinator.clients.into()),
                credentials: folder.path("client"),
                ..Options::default()
            };
            let application = Application::start(options).await.expect("credentials");
            let spec = CoflowSpec::of(vec![Flow::new(0, 1, Some(5.0))]);
            let coflow = application.register(&spec).await.expect("lenient");
            (coflow.is_registered(), application.unregistered_because().unwrap_or_default())
        };
        assert_eq!(register().await, (true, String::new()));
        folder.results(&["certs", "revoke", "--data", "data", "coordinator"]);
        std::fs::copy(folder.path("data/crl.pem"), folder.path("client/crl.pem")).expect("a file");
        let (is_registered, why) = register().await;
        assert!(!is_registered && why.contains("Revoked"), "{why}");
    });
}

#[test]
fn a_broken_certificate_leaves_the_last_one_in_force() {
    let folder = TestFolder::new();
    assert_eq!(folder.covey(&["serve", "--init", "--data", "data"]).status, Some(0));
    let coordinator = Coordinator::logged(&folder, &[]);
    folder.write("data/coordinator.pem", "nonsense");
    hang_up(&coordinator);
    block_on(async {
        until(10, "it is said", async || folder.read("log").contains("not read again")).await;
        let tls = Credentials::of(&folder.path("data")).client().expect("credentials");
        let client = Client::connect(coordinator.clients, &token(&folder), Some(tls)).await;
        assert_eq!(client.expect("a connection").get("/livez").await.unwrap().status, 200);
    });
}

#[test]
fn init_says_what_it_leaves_and_wrong_arguments_are_told() {
    let folder = TestFolder::new();
    let init = ["serve", "--init", "--data", "data", "--agent", "1"];
    assert_eq!(
        folder.results(&init),
        "made credentials in data\nmade 1 folders of agents and relays\n"
    );
    let again = folder.results(&[&init[..], &["--name", "a.example"]].concat());
    for said in
        ["data has a CA", "not added: a.example (covey certs add-name a.example)", "agents/1"]
    {
        assert!(again.contains(said), "{again}");
    }
    let data = ["--data", "data"];
    for (arguments, expected) in [
        (
            &["renew", "agents/7"][..],
            "OWNER: expected one of coordinator, agent, agents/1, found 'agents/7'",
        ),
        (
            &["renew", "agent/7"],
            "OWNER: expected coordinator, agent, agents/PORT or relays/NAME, found 'agent/7'",
        ),
        (&["renew", "--days", "0"], "--days: expected from 1 to 36500, found 0"),
        (
            &["add-name", "http://a"],
            "NAME: expected a name or an address, without a port, found 'http://a'",
        ),
        (
            &["add-name", "a", "--of", "agents/1"],
            "--of: expected coordinator or relays/NAME, found 'agents/1'",
        ),
        (
            &["revoke", "beef"],
            "OWNER|SERIAL: expected an owner or a serial number that covey certs list shows",
        ),
        (&["list", "--data", "none"], "--data: expected a folder with certificates"),
    ] {
        let given = if arguments.contains(&"--data") { &[][..] } else { &data };
        let refusal = folder.refusal(&[&["certs"], arguments, given].concat());
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    // Without the key of the CA, nothing can be made.
    std::fs::rename(folder.path("data/ca.key"), folder.path("ca.key")).expect("a file");
    let refusal = folder.refusal(&["certs", "renew", "--data", "data"]);
    assert!(refusal.contains("ca.key"), "{refusal}");
    folder.results(&["certs", "renew", "--data", "data", "--ca-key", "ca.key"]);
}
