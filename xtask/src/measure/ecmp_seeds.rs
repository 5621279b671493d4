//! What collisions of ECMP cost: the mean CCT on a FatTree if flows are sprayed, with hashes of
//! flows, and with hashes of pairs of hosts, over several seeds.

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::program::{Covey, progress};
use crate::table::{Table, code};

/// Measure what collisions of ECMP cost
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    /// The policy
    #[arg(long, env = "POLICY", default_value = "fair")]
    policy: String,
    /// The network
    #[arg(long, env = "FABRIC", default_value = "fat-tree:k=8,place=pack")]
    fabric: String,
    /// The seeds of hashes
    #[arg(long, env = "SEEDS", num_args = 1.., value_delimiter = ' ', default_value = "1 2 3 4 5")]
    seeds: Vec<u64>,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let covey = Covey::find()?;
        let Self { trace, policy, fabric, seeds } = self;
        let mean_cct_s = |ecmp: &str| {
            progress(ecmp);
            let fabric = format!("{fabric},ecmp={ecmp}");
            covey.mean_cct_s(&trace.path, &policy, &["--fabric", &fabric])
        };
        let spray_s = mean_cct_s("spray")?;
        let mut table =
            Table::new(1, ["`ecmp=`", "lowest", "mean", "highest", "highest over sprayed"]);
        for mode in ["flow", "pair"] {
            let of_seed = |seed: &u64| mean_cct_s(&format!("{mode},seed={seed}"));
            let means_s = seeds.iter().map(of_seed).collect::<Result<Vec<f64>>>()?;
            let lowest_s = means_s.iter().copied().fold(f64::INFINITY, f64::min);
            let highest_s = means_s.iter().copied().fold(0.0, f64::max);
            let mean_s = means_s.iter().sum::<f64>() / means_s.len() as f64;
            table.row([
                code(mode),
                format!("{lowest_s:.3}"),
                format!("{mean_s:.3}"),
                format!("{highest_s:.3}"),
                format!("{:.4}", highest_s / spray_s),
            ]);
        }
        println!("Mean CCT of `{policy}` on `{fabric}`, in seconds; sprayed: {spray_s}.\n");
        print!("{table}");
        Ok(())
    }
}
