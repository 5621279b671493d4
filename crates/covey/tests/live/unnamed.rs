//! Flows that no application has named, scheduled by `covey serve --policy coda`.

use std::net::{IpAddr, Ipv4Addr};

use covey_api::{Page, UnnamedFlow};
use covey_proto::{Appearance, FlowName};

use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, block_on, coflow, joined, metric, register, token, until,
};

const CODA: [&str; 2] = ["--policy", "coda:q1=10GB"];

fn address(port: u32) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, port as u8 + 1).into()
}

/// A flow from port to port.
fn appearance(number: u64, src: u32, dst: u32) -> (u32, Appearance) {
    let (from, to) = ((address(src), 40_000 + number as u16).into(), (address(dst), 9000).into());
    (src, Appearance { number, protocol: 6, from, to, age_s: 0.0 })
}

/// How a host serves a flow; `None`: nobody holds it.
fn rate(hosts: &[Fluid], port: u32, number: u64) -> Option<f64> {
    hosts[port as usize].flows().rates.get(&FlowName::Number(number)).copied()
}

#[test]
fn a_coordinator_that_is_killed_hears_of_all_flows_again_and_groups_them() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &CODA);
    block_on(async {
        let token = token(&folder);
        let hosts: Vec<Fluid> = (0..4).map(|_| Fluid::of(1e11)).collect();
        for (port, host) in (0..).zip(&hosts) {
            host.join_from(coordinator.agents, &token, port, vec![address(port)]);
        }
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        let first = [appearance(0, 0, 2), appearance(0, 1, 2)];
        first.iter().for_each(|(port, flow)| hosts[*port as usize].begin(*flow));
        let half = Some(62.5e6);
        until(10, "they share", async || rate(&hosts, 0, 0) == half && rate(&hosts, 1, 0) == half)
            .await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let second = [appearance(1, 3, 2), appearance(2, 3, 2)];
        second.iter().for_each(|(port, flow)| hosts[*port as usize].begin(*flow));
        until(10, "the second coflow waits", async || {
            rate(&hosts, 3, 1) == Some(0.0) && rate(&hosts, 3, 2) == Some(0.0)
        })
        .await;
        until(10, "they are counted", async || {
            metric(&mut client, "covey_coflows").await == 2.0
                && metric(&mut client, "covey_flows_unnamed").await == 4.0
        })
        .await;
        let status = folder.command(&[
            "status",
            "--coordinator",
            &coordinator.clients.to_string(),
            "--credentials",
            "data",
        ]);
        let text = String::from_utf8({ status }.output().unwrap().stdout).unwrap();
        let (_, found) =
            text.split_once("found among flows that no application has named\n").unwrap();
        let rows = found.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows: Vec<Vec<&str>> = rows.collect();
        // Coflow, flows, hosts that send and hosts that receive.
        let columns = ["coflow", "flows", "senders", "receivers", "sent", "rate"];
        assert_eq!(rows[0], [&columns[..], &["furthest", "flow"]].concat());
        assert_eq!(rows[1][..4], ["0", "2", "2", "1"], "{text}");
        assert_eq!(rows[2][..4], ["1", "2", "1", "1"], "{text}");
        // Each flow of the second coflow is near the other one.
        let flows = client.ask("GET", "/v1/flows?why=true", &[], Vec::new()).await.unwrap();
        let flows: Page<UnnamedFlow> = serde_json::from_slice(&flows.body).unwrap();
        let [.., a, b] = &flows.items[..] else { panic!("{flows:?}") };
        let near = |flow: &UnnamedFlow| flow.near.clone().expect("the other is near");
        assert_eq!([near(a).id, near(b).id], [b.id, a.id]);
        assert!(near(a).distance <= near(a).radius, "{a:?}");
        assert!(
            text.contains(&format!("from {}", a.id)) || text.contains(&format!("from {}", b.id))
        );
        let refused = client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        assert_eq!(refused.status, 409);

        coordinator.restart(&folder, &CODA);
        let mut client = coordinator.client(&folder).await;
        until(10, "all are grouped again", async || {
            metric(&mut client, "covey_coflows").await == 2.0
                && rate(&hosts, 0, 0) == half
                && rate(&hosts, 3, 1) == Some(0.0)
        })
        .await;
        assert_eq!(metric(&mut client, "covey_flows_unnamed").await, 4.0);
        // The journal knows nothing of them.
        assert_eq!(metric(&mut client, "covey_pending").await, 0.0);

        coordinator.process.kill().unwrap();
        coordinator.process.wait().unwrap();
        until(10, "nobody holds a flow", async || rate(&hosts, 3, 1).is_none()).await;
    });
}

#[test]
fn coflows_that_applications_have_named_end_before_others_are_found() {
    let folder = TestFolder::new();
    {
        let coordinator = Coordinator::new(&folder, &["--policy", "aalo"]);
        block_on(async {
            let mut client = coordinator.client(&folder).await;
            register(&mut client, &[(0, 1)]).await;
        });
    }
    let addresses = ["127.0.0.1:0", "127.0.0.1:0"];
    let mut command = Coordinator::command(&folder, addresses[0], addresses[1], &CODA);
    let ran = command.output().unwrap();
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{error}");
    assert!(error.contains("the journal has 1 coflows that applications have named"), "{error}");
}
