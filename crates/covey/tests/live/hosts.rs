//! A coordinator with the agents of two hosts.

use std::process::{Child, Command, Stdio};

use covey_api::Client;

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, joined, until};

pub struct Hosts {
    pub coordinator: Coordinator,
    pub agents: Vec<Killed>,
    pub client: Client,
}

impl Hosts {
    pub async fn start(folder: &TestFolder, more: &[&str]) -> Hosts {
        let coordinator = Coordinator::logged(folder, more);
        let client = coordinator.client(folder).await;
        let mut hosts = Hosts { coordinator, agents: Vec::new(), client };
        hosts.start_agent(folder, "0").await;
        hosts.start_agent(folder, "1").await;
        hosts
    }

    pub async fn start_agent(&mut self, folder: &TestFolder, port: &str) {
        let before = joined(&mut self.client).await;
        let mut command = agent(folder, &self.coordinator, port, &folder.path("data"));
        self.agents.push(Killed(command.stderr(Stdio::null()).spawn().expect("covey agent")));
        until(5, "it joins", async || joined(&mut self.client).await == before + 1).await;
    }
}

/// Sends a process a signal.
pub fn signal(process: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}
