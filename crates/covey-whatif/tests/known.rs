//! Replays of real logs, which are beside the project.

use std::path::Path;

use covey_experiment::{Setup, Silent};
use covey_facebook_test::spark_logs_test;
use covey_whatif::{Model, Overlap, Placed, Replayed, replay};

fn model(name: &str) -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/spark");
    Model::of(&covey_spark::read(&folder.join(name)).expect("a log")[0])
}

fn alone(model: &Model, rate: &str, policy: &str, overlap: Overlap) -> Replayed {
    let hosts = model.hosts.len() as u32;
    let placed = Placed {
        model,
        offset_s: 0.0,
        ports: (0..hosts).collect(),
        factors: vec![1.0; model.coflows.len()],
    };
    let setup = Setup { port_rate: Some(rate.to_owned()), ..Setup::default() };
    replay(&[placed], hosts, &setup, policy, overlap, &Silent).expect("a replay")
}

const LOGS: [&str; 4] = [
    "nds_q72_dataproc_2_2.zstd",
    "eventlog_4nodes_8cores_dynamic_alloc.zstd",
    "rp_sql_eventlog.zstd",
    "own_q3_q18_v2",
];

#[spark_logs_test]
fn without_scheduling_the_log_comes_out_again() {
    for name in LOGS {
        let model = model(name);
        let logged = model.schedule(|k| model.tasks[k].compute_s + model.tasks[k].wait_s);
        println!("{name}: as logged {:.5}, {} s", model.error(&logged), model.logged_s);
        for overlap in Overlap::BOTH {
            let replayed = alone(&model, "10gbps", "fair", overlap);
            println!(
                "{name} {overlap:?}: {:.5} in {} rounds",
                model.error(&replayed.schedules[0]),
                replayed.rounds
            );
        }
        assert!(model.error(&logged) < 1e-3);
        assert!(
            model.error(&alone(&model, "10gbps", "fair", Overlap::Whole).schedules[0]) < 0.03,
            "{name}"
        );
    }
}

#[spark_logs_test]
fn a_slow_network_gains_nothing_where_one_stage_follows_another() {
    let model = model(LOGS[0]);
    for overlap in Overlap::BOTH {
        let end_s = |policy: &str| {
            let replayed = alone(&model, "100mbps", policy, overlap);
            println!(
                "{overlap:?} {policy}: {} s in {} rounds",
                replayed.schedules[0].end_s, replayed.rounds
            );
            replayed.schedules[0].end_s
        };
        let fair = end_s("fair");
        for policy in ["sebf", "covey"] {
            let gain = 1.0 - end_s(policy) / fair;
            assert!(gain.abs() < 0.01, "{policy} {overlap:?}: {gain}");
        }
    }
}
