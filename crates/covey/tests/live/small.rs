//! Coflows that start by themselves, as the policy of the coordinator says.

use std::time::Duration;

use covey_client::{CoflowSpec, Flow, FlowSender};
use tokio::io::AsyncWriteExt;

use crate::common::TestFolder;
use crate::flow_tokens::Hosts;
use crate::harness::{block_on, until};
use crate::openings::{signal, take_all};

/// Bytes of each flow.
const BYTES: usize = 1_000_000;

/// Writes a flow of which no schedule tells, for a while. Returns the bytes that it has sent.
async fn write_unmentioned(flow: &mut FlowSender) -> usize {
    let writing = flow.write_all(&[7; BYTES]);
    tokio::time::timeout(Duration::from_millis(300), writing).await.expect_err("it has to wait");
    flow.sent() as usize
}

#[test]
fn a_coflow_starts_by_itself_up_to_what_the_policy_says() {
    for (policy, starts) in [("aalo:start_small=100kB", [100_000, 0]), ("aalo", [0, 0])] {
        let folder = TestFolder::new();
        block_on(async {
            // Without tokens nothing is asked of the coordinator before a flow begins.
            let hosts = Hosts::start(&folder, &["--policy", policy, "--flow-tokens", "off"]).await;
            let to = take_all(hosts.listen().await);
            let flow = Flow::new(0, 1, Some(BYTES as f64));
            let spec = CoflowSpec::of(vec![flow, flow]);
            // Another coflow has all of the link, and is not even opened.
            let large = CoflowSpec::of(vec![Flow::new(0, 1, Some(1e9))]);
            hosts.sender.register(&large).await.expect("a coordinator");
            tokio::time::sleep(Duration::from_millis(50)).await;
            let coflow = hosts.sender.register(&spec).await.expect("a coordinator");
            let another = hosts.sender.register(&spec).await.expect("a coordinator");
            // No schedule comes from now on.
            signal(&hosts, "STOP");
            let mut flows = Vec::new();
            for (of, index) in [(&coflow, 0), (&coflow, 1), (&another, 0)] {
                flows.push(of.open(index, to, Some(BYTES as u64), b"").await.expect("open"));
            }
            for (flow, expected) in flows.iter_mut().zip([starts[0], starts[1], starts[0]]) {
                assert_eq!(write_unmentioned(flow).await, expected, "{policy}");
            }
            signal(&hosts, "CONT");
            for flow in &mut flows {
                let sent = flow.sent() as usize;
                flow.write_all(&vec![7; BYTES - sent]).await.expect("it has its turn");
                flow.finish().await.expect("all has come");
            }
            until(5, "the ends are written", async || hosts.sender.unsettled() == 0).await;
        });
    }
}
