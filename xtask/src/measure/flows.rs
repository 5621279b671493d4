//! The client library beside plain TCP, pacing, reaction, an agent with a thousand flows. An
//! example of covey-client measures it. As root it runs in a network namespace of its own, where
//! new rates take effect sooner, and also beside plain TCP under reno.

use std::process::Command;

use clap::Args;

use crate::Result;
use crate::namespace::Namespace;
use crate::program::{example, output, run};

/// Measure flows of the client library beside plain TCP
#[derive(Args)]
pub struct Arguments {}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let bench = example("covey-client", "flow_bench")?;
        run(&mut Command::new("uptime"))?;
        if !rustix::process::getuid().is_root() {
            return run(&mut Command::new(bench));
        }
        let host = Namespace::new("flows")?;
        host.hurry();
        // Plain TCP differs by congestion control: bbr paces it, reno does not.
        let control = "/proc/sys/net/ipv4/tcp_congestion_control";
        let default = output(host.command("cat").arg(control))?;
        let default = default.trim_end();
        if default != "reno" {
            println!("With reno:");
            host.set("tcp_congestion_control", "reno")?;
            run(host.command(&bench).arg("beside-tcp"))?;
            host.set("tcp_congestion_control", default)?;
        }
        println!("With {default}:");
        run(&mut host.command(&bench))
    }
}
