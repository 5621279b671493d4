//! Certificates of agents and relays that run: they warn before they expire, and read again what
//! has changed.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use covey_api::{Client, Credentials};
use covey_credentials::{Authority, Owner};

use crate::certificates::hang_up;
use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, Relay, agent, block_on, joined, token, until};

/// Starts an agent that logs to the file `log`.
fn logged(command: &mut Command, folder: &TestFolder) -> Killed {
    let log = File::create(folder.path("log")).expect("a file");
    Killed(command.stderr(log).spawn().expect("covey agent"))
}

#[test]
fn an_agent_warns_of_certificates_that_expire_and_that_have_expired() {
    let folder = TestFolder::new();
    folder.results(&["serve", "--init", "--data", "data", "--agent", "0"]);
    folder.results(&["certs", "renew", "--data", "data", "agents/0", "--days", "10"]);
    let nobody = "127.0.0.1:1";
    let mut start = folder.command(&["agent", "--port", "0", "--coordinator", nobody]);
    let _agent = logged(start.args(["--credentials", "data/agents/0"]), &folder);
    block_on(async {
        let says = async |text: &str| folder.read("log").contains(text);
        until(10, "it warns at its start", async || says("agent.pem expires soon").await).await;
        // Nobody says that it has changed.
        let short = Authority::of(&folder.path("data")).valid_for(Duration::ZERO);
        short.renew(&Owner::Agent(0), &[], false).expect("a certificate");
        until(15, "it says so", async || says("agent.pem has expired").await).await;
        assert!(!says("ca.pem expires").await && !says("ca.pem has").await);
    });
}

#[test]
fn agents_and_relays_learn_what_is_revoked_without_a_restart() {
    let folder = TestFolder::new();
    let init = ["serve", "--init", "--data", "data", "--agent", "0-1", "--relay", "127.0.0.1"];
    folder.results(&init);
    let mut coordinator = Coordinator::new(&folder, &[]);
    let relay_folder = "data/relays/127.0.0.1";
    let relay_log = File::create(folder.path("relay-log")).expect("a file");
    let mut start = Relay::command(&folder, coordinator.agents, "127.0.0.1:0", relay_folder);
    let relay = Relay::spawn(start.stderr(relay_log));
    let own = |port: &str| folder.path("data/agents").join(port);
    let _direct = logged(&mut agent(&folder, &coordinator, "0", &own("0")), &folder);
    let at = relay.agents.to_string();
    let mut behind = folder.command(&["agent", "--port", "1", "--coordinator", &at]);
    let behind = behind.arg("--credentials").arg(own("1")).stderr(Stdio::null());
    let _behind = Killed(behind.spawn().expect("covey agent"));
    // This client knows of no revocation.
    fs::create_dir(folder.path("client")).expect("a folder");
    fs::copy(folder.path("data/ca.pem"), folder.path("client/ca.pem")).expect("a file");
    let tls = Credentials::of(&folder.path("client")).client().expect("credentials");
    block_on(async {
        let connect = async |at| {
            let connected = Client::connect(at, &token(&folder), Some(tls.clone())).await;
            connected.expect("a connection")
        };
        let mut client = connect(coordinator.clients).await;
        until(10, "they join", async || joined(&mut client).await == 2).await;
        folder.results(&["certs", "revoke", "--data", "data", "coordinator"]);
        for to in ["data/agents/0", relay_folder] {
            fs::copy(folder.path("data/crl.pem"), folder.path(to).join("crl.pem")).expect("a file");
        }
        // It still shows the certificate that is revoked.
        coordinator.restart(&folder, &[]);
        for log in ["log", "relay-log"] {
            until(10, log, async || folder.read(log).contains("Revoked")).await;
        }
        let mut client = connect(coordinator.clients).await;
        assert_eq!(joined(&mut client).await, 0);
        folder.results(&["certs", "renew", "--data", "data", "coordinator", "--new-key"]);
        hang_up(&coordinator);
        until(10, "they are back", async || joined(&mut client).await == 2).await;
    });
}
