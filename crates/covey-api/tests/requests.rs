//! Bodies of requests are read as they were meant. The client for the JVM is tested with the same
//! file.

use covey_api::{CoflowSpec, Community, Flow, FlowEnds, Update};
use serde::de::DeserializeOwned;

fn read<T: DeserializeOwned>(name: &str) -> T {
    let mut lines =
        include_str!("data/requests.txt").lines().filter_map(|line| line.split_once(' '));
    let (_, body) = lines.find(|(known, _)| *known == name).expect(name);
    serde_json::from_str(body).expect(name)
}

#[test]
fn bodies_are_read_as_they_were_meant() {
    let coflow = CoflowSpec {
        name: Some("app stage 3".to_owned()),
        parents: vec![4],
        open: true,
        lease_s: Some(60.0),
        ..CoflowSpec::of(vec![Flow::new(0, 1, Some(1e6)), Flow::new(1, 0, None)])
    };
    assert_eq!(read::<CoflowSpec>("register"), coflow);
    let add = Update { add: vec![Flow::new(2, 3, Some(5.0))], ..Update::default() };
    assert_eq!(read::<Update>("update.add"), add);
    let rest = Update { restart: vec![0], cancel: vec![1], open: Some(false), ..Update::default() };
    assert_eq!(read::<Update>("update.rest"), rest);
    let address = |text: &str| text.parse().expect("an address");
    let flows = vec![FlowEnds { from: address("10.0.0.1:40000"), to: address("10.0.0.2:9000") }];
    assert_eq!(read::<Community>("community"), Community { community: 7, flows });
}
