//! `--sim`: emulated simulators.

use crate::common::TestFolder;
use serde_json::Value;

#[test]
fn coflowsim_admits_early_and_in_seconds_of_1024_ms() {
    let folder = TestFolder::new();
    let arguments = ["simulate", "tiny.txt", "--policy", "sebf", "--sim", "coflowsim"];
    let json = folder.results(&[&arguments[..], &["--json", "--per-coflow", "a.csv"]].concat());
    let result: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(result["policy"], "sebf");
    assert_eq!(result["params"]["sim"], "coflowsim");
    assert_eq!(result["port_rate_bps"], 1_073_741_824.0);
    // Both are admitted at 0. The second has 4 MB for one receiver, 2 MB from each of two senders:
    // 4 quanta of 8 ms. The first has 10 MB for the same receiver and comes after it: 14 quanta.
    let rows = folder.read("a.csv");
    let ccts: Vec<&str> = rows.lines().skip(1).map(|row| row.split(',').nth(3).unwrap()).collect();
    assert_eq!(ccts, ["0.109375", "0.03125"]);
}

#[test]
fn philae_authors_in_cycles_of_8_ms() {
    let folder = TestFolder::new();
    let arguments = ["compare", "tiny.txt", "--policies", "philae,philae:order=A", "--json"];
    let json = folder.results(&[&arguments[..], &["--sim", "philae-authors"]].concat());
    let result: Value = serde_json::from_str(&json).unwrap();
    let [first, second] = [0, 1].map(|i| &result["results"][i]);
    assert_eq!([&first["params"]["order"], &second["params"]["order"]], ["D", "A"]);
    assert_eq!(first["port_rate_bps"], 1_073_736_000.0);
    assert_eq!(first["lower_bound_mean_cct_s"], Value::Null);
    // A cycle carries a little more than a MB: the first coflow, which goes first at the receiver
    // they share, needs 10 cycles, and the second 2 for each of its flows.
    assert_eq!(first["cct_s"]["max"], 0.112);
}

#[test]
fn options_that_an_emulation_lacks_are_refused() {
    let folder = TestFolder::new();
    let refusal = |simulator, policy, more: &[&str]| {
        let arguments = ["simulate", "tiny.txt", "--policy", policy, "--sim", simulator];
        folder.refusal(&[&arguments[..], more].concat())
    };
    assert_eq!(
        refusal("coflowsim", "philae", &[]),
        "policy 'philae' with --sim coflowsim: expected one of \
         fair, pfp, fifo, scf, ncf, lcf, sebf, aalo, aalo-oracle"
    );
    assert_eq!(
        refusal("philae-authors", "philae:T=9", &[]),
        "policy philae with --sim philae-authors: expected the parameters order, ties, pilots, \
         thin, K, q1, E, found 'T=9'"
    );
    assert_eq!(
        refusal("coflowsim", "aalo", &["--port-rate", "1gbps"]),
        "--port-rate: expected 1073741824bps, which is that of --sim coflowsim, found '1gbps'"
    );
    assert_eq!(
        refusal("coflowsim", "aalo", &["--bound"]),
        "--bound: expected --sim exact with it, found another"
    );
    folder.results(&[
        "simulate",
        "tiny.txt",
        "--policy",
        "aalo",
        "--sim",
        "coflowsim",
        "--port-rate",
        "128MiB/s",
    ]);
}

#[test]
fn other_coflows_than_shuffles_are_refused() {
    let folder = TestFolder::new();
    folder.write("bad.txt", "{\"covey_trace\":1,\"ports\":3}\n{\"id\":\"x\",\"arrival_s\":0,\"flows\":[{\"src\":0,\"dst\":2,\"bytes\":1},{\"src\":1,\"dst\":2,\"bytes\":2}]}\n");
    let refusal =
        folder.refusal(&["compare", "bad.txt", "--policies", "fair,aalo", "--sim", "coflowsim"]);
    assert_eq!(
        refusal,
        "coflow 'x': CoflowSim expects flows of equal size to a receiver, found 1 and 2 bytes to port 2"
    );
}
