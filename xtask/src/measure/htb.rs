//! HTB and DSCP, between two network namespaces. An example of covey-client measures it.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::{fs, slice};

use clap::Args;

use crate::Result;
use crate::namespace::Namespace;
use crate::program::{example, run};
use crate::scratch::Scratch;

/// Measure rates by HTB and priorities by DSCP; needs root, ip and tc
#[derive(Args)]
pub struct Arguments {}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let bench = example("covey-client", "htb_bench")?;
        let [a, b] = [Namespace::new("htb-a")?, Namespace::new("htb-b")?];
        a.ip(&format!("link add v0 type veth peer name v0 netns {}", b.name))?;
        for (host, number) in [(&a, 1), (&b, 2)] {
            host.ip(&format!("addr add 10.9.0.{number}/24 dev v0"))?;
            host.ip("link set v0 up")?;
            host.hurry();
            // Not every system lets namespaces choose cubic; on links as short as these, reno
            // behaves like it.
            host.set("tcp_congestion_control", "cubic")
                .or_else(|_| host.set("tcp_congestion_control", "reno"))?;
        }
        run(&mut Command::new("uptime"))?;
        between(&a, &b, &bench, &["rates", "v0", "10.9.0.2:9000"])?;
        let scratch = Scratch::new()?;
        let file = scratch.path("priorities")?;
        fs::write(&file, priorities()?)?;
        run(Command::new("tc").args(["-n", &a.name, "-batch", "-"]).stdin(File::open(&file)?))?;
        println!();
        between(&a, &b, &bench, &["marks", "10.9.0.2:9001"])
    }
}

/// Runs the example at host `a`; it starts its other half at host `b`.
fn between(a: &Namespace, b: &Namespace, bench: &Path, words: &[&str]) -> Result {
    let address = words.last().map_or(&[][..], slice::from_ref);
    let mut sink = b.command(bench);
    sink.arg("sink").args(address);
    run(a.command(bench).args(words).arg(sink.get_program()).args(sink.get_args()))
}

/// For `tc -batch`: a link of 100 Mbit/s that gives priority by DSCP. Each class is guaranteed a
/// hundredth.
fn priorities() -> Result<String> {
    let mut text = "qdisc add dev v0 root handle 1: htb default 10\n\
        class add dev v0 parent 1: classid 1:1 htb rate 100mbit ceil 100mbit quantum 60000\n"
        .to_owned();
    for place in 0..8 {
        let (prio, tos) = (7 - place, place << 5);
        write!(
            text,
            "class add dev v0 parent 1:1 classid 1:1{place} htb rate 1mbit ceil 100mbit prio {prio} quantum 60000\n\
             qdisc add dev v0 parent 1:1{place} bfifo limit 262144\n\
             filter add dev v0 parent 1: protocol ip prio 1 u32 match ip tos {tos} 0xe0 flowid 1:1{place}\n"
        )?;
    }
    Ok(text)
}
