//! `covey trace filter | mantri | skew | …`: workloads made from workloads.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use covey_core::{LinkId, TenantWeights};
use covey_topology::Network;
use covey_trace::transform::{
    self, Changes, Failures, Filter, Mantri, Scale, Tenants, TenantsBy, Waves, WavesOf,
};
use covey_trace::{TraceError, Workload};

use crate::failure::Failure;
use crate::input::Input;
use crate::output;
use crate::quantity;

/// The workload that is transformed, and the file for the result.
#[derive(Debug, Args)]
pub struct Ends {
    #[command(flatten)]
    input: Input,
    /// The file to write, - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// The parameters by which a trace is folded.
#[derive(Debug, Args)]
pub struct Folding {
    /// Factor of all times, a number or a fraction
    #[arg(long, value_name = "FACTOR", default_value = "1/18", value_parser = factor)]
    time: f64,
    /// Factor of all sizes, a number or a fraction
    #[arg(long, value_name = "FACTOR", default_value = "1/1000", value_parser = factor)]
    size: f64,
    /// Keep only every Nth coflow
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
}

impl Folding {
    /// The defaults, with only every Nth coflow.
    pub fn usual(every: usize) -> Folding {
        Folding { time: 1.0 / 18.0, size: 1e-3, every }
    }

    /// Folds `workload` to `ports` ports.
    pub fn fold(&self, workload: &Workload, ports: u32) -> Result<Workload, TraceError> {
        let by = Scale { time: self.time, size: self.size, ports: Some(ports) };
        transform::fold(&transform::every(workload, self.every)?, by)
    }
}

/// What happens to the cluster, and how often.
#[derive(Debug, Args)]
pub struct Failing {
    /// Mean time from the return of a host to its next failure; without it none fails
    #[arg(long, value_name = "TIME")]
    mtbf: Option<String>,
    /// Mean time to repair
    #[arg(long, value_name = "TIME", default_value = "60s")]
    mttr: String,
    /// Share of failures after which flows have to send everything again
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    lose: f64,
    /// The inner links of this fabric fail as hosts do; see docs/fabrics.md
    #[arg(long, value_name = "FABRIC")]
    links_of: Option<String>,
    /// The last failure begins by then; the last arrival if not said
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Share of flows with a second attempt
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    attempts: f64,
    /// Time from the start of a flow to its second attempt
    #[arg(long, value_name = "TIME", default_value = "10s")]
    after: String,
    /// Share of flows that move to another receiving port
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    moves: f64,
    /// Share of flows that are cancelled
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    cancels: f64,
    /// Share of flows that lose what they have sent, and begin again
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    restarts: f64,
    /// Moves, cancellations and restarts come up to this time after the start of the flow
    #[arg(long, value_name = "TIME", default_value = "10s")]
    within: String,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Failing {
    fn apply(&self, workload: &Workload) -> Result<Workload, Failure> {
        let time = |name: &str, text: &str| quantity::time(name, text);
        let how = Failures {
            mtbf_s: self.mtbf.as_deref().map(|text| time("--mtbf", text)).transpose()?,
            mttr_s: time("--mttr", &self.mttr)?,
            lose: self.lose,
            links: self.links(workload)?,
            until_s: self.until.as_deref().map(|text| time("--until", text)).transpose()?,
            attempts: self.attempts,
            after_s: time("--after", &self.after)?,
            moves: self.moves,
            cancels: self.cancels,
            restarts: self.restarts,
            within_s: time("--within", &self.within)?,
            seed: self.seed,
        };
        if self.links_of.is_some() && how.mtbf_s.is_none() {
            return Err(Failure::argument("--mtbf", "a time, for --links-of", "none"));
        }
        if how.mtbf_s.is_none() && [how.attempts, how.moves, how.cancels, how.restarts] == [0.0; 4]
        {
            let names = "--mtbf, --attempts, --moves, --cancels, --restarts";
            return Err(Failure::argument(names, "at least one of them", "none"));
        }
        Ok(transform::failures(workload, &how)?)
    }

    /// The names of the inner links of the fabric.
    fn links(&self, workload: &Workload) -> Result<Vec<String>, Failure> {
        let Some(spec) = &self.links_of else { return Ok(Vec::new()) };
        let network =
            Network::open(spec, workload.ports, 1.0).map_err(covey_experiment::Error::from)?;
        let fabric = network.fabric();
        let links = fabric.inner_links().map(|link| fabric.link_name(LinkId(link as u32)));
        let links: Vec<String> = links.collect();
        if links.is_empty() {
            let expected = "a fabric with links between switches";
            return Err(Failure::argument("--links-of", expected, format!("'{spec}'")));
        }
        Ok(links)
    }
}

/// A transformation.
#[derive(Debug, Subcommand)]
pub enum Transform {
    /// Keep only wide coflows (Philae 8.1: 8 or more flows) or coflows with unequal flows
    #[command(
        arg_required_else_help = false,
        after_help = "\
Examples:
  covey trace filter trace.txt --min-width 8 -o wide.jsonl
  covey trace filter trace.txt --min-skew 2 | covey compare -"
    )]
    Filter {
        #[command(flatten)]
        ends: Ends,
        /// Keep coflows of at least N flows
        #[arg(long, value_name = "N")]
        min_width: Option<usize>,
        /// Keep coflows whose longest flow is more than K times as long as the shortest
        #[arg(long, value_name = "K")]
        min_skew: Option<f64>,
    },
    /// Let mappers send unequally (Mantri; Philae 8.1); reducers receive as much as before
    #[command(after_help = "\
Coefficients of variation over the mappers of a coflow are lognormal with the two percentiles.

Examples:
  covey trace mantri trace.txt --seed 2 | covey compare -")]
    Mantri {
        #[command(flatten)]
        ends: Ends,
        /// Coefficient of variation at the median of coflows with several mappers
        #[arg(long, value_name = "CV", default_value_t = 0.34)]
        cv_p50: f64,
        /// Coefficient of variation at their 90th percentile
        #[arg(long, value_name = "CV", default_value_t = 3.1)]
        cv_p90: f64,
        /// The seed
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Multiply each flow by a lognormal factor; each coflow keeps its size
    #[command(after_help = "\
Examples:
  covey trace skew trace.txt --sigma 0.3 --seed 2 -o skew.jsonl")]
    Skew {
        #[command(flatten)]
        ends: Ends,
        /// Standard deviation of the factor's logarithm
        #[arg(long, default_value_t = 1.0)]
        sigma: f64,
        /// The seed
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Multiply times and sizes, fold ports
    #[command(after_help = "\
With all times multiplied by 2/3, the load is 1.5 times as high.

Examples:
  covey trace scale trace.txt --time 2/3 -o busy.jsonl
  covey trace scale trace.txt --ports 50 | covey trace info -")]
    Scale {
        #[command(flatten)]
        ends: Ends,
        /// Factor of all times, a number or a fraction
        #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
        time: f64,
        /// Factor of all sizes, a number or a fraction
        #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
        size: f64,
        /// Number of ports, at most those of the trace: port p becomes p modulo N
        #[arg(long, value_name = "N")]
        ports: Option<u32>,
    },
    /// Multiply times and sizes, and fold ports for real hosts: one flow per pair and coflow
    #[command(after_help = "\
Flows of a coflow between the same two ports become one, those from a port to itself are dropped,
bytes are rounded up. Widths change: compare with results of the folded trace only. This is what
`covey testbed` replays.

Examples:
  covey trace fold trace.txt --ports 16 --size 1/1000 --time 1/18 | covey compare - --port-rate 92mbps")]
    Fold {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        by: Folding,
        /// Number of ports, at most those of the trace: port p becomes p modulo N
        #[arg(long, value_name = "N", default_value_t = 16)]
        ports: u32,
    },
    /// Let consecutive coflows arrive together (Stream IV: all at once)
    #[command(after_help = "\
Examples:
  covey trace burst trace.txt --group 20 -o bursts.jsonl")]
    Burst {
        #[command(flatten)]
        ends: Ends,
        /// Number of coflows in a burst; with all coflows in one burst, all arrive at once
        #[arg(long, value_name = "N", default_value_t = 20)]
        group: usize,
    },
    /// Divide coflows into several waves of senders (Aalo 7.3, Table 4) or of flows (Stream, Table
    /// 2)
    #[command(after_help = "\
At most 2, 3 or 4 waves: 90/10, 81/9/10 or 81/9/4/6 % of coflows have 1/2/3/4. With --of flows, so
many percent of each coflow's flows are in the first/second/third/fourth wave.

Examples:
  covey trace waves trace.txt --max 4 -o waves.jsonl
  covey trace waves trace.txt --of flows --max 2 | covey compare -")]
    Waves {
        #[command(flatten)]
        ends: Ends,
        /// Maximum number of waves of a coflow, 1 to 4
        #[arg(long, value_name = "N", default_value_t = 4)]
        max: u32,
        /// What the percentages are of: coflows or flows
        #[arg(long, default_value = "coflows")]
        of: String,
        /// Speed of ports; a wave begins when the previous one would end, alone at this speed
        #[arg(long, value_name = "RATE", default_value = "1gbps")]
        rate: String,
        /// The seed
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Make a coflow of each receiver of a coflow (Stream IV, many-to-one); its job is the coflow
    #[command(after_help = "\
The receivers of coflow 7 make the coflows 7.r0, 7.r1 and so on, of job 7. Results have job completion times, which
are the completion times of the coflows before.

Examples:
  covey trace split-receivers trace.txt -o many-to-one.jsonl
  covey trace split-receivers trace.txt | covey compare - --policies fair,aalo")]
    SplitReceivers {
        #[command(flatten)]
        ends: Ends,
    },
    /// Give each coflow a tenant, drawn at random, for `covey simulate --tenants`
    #[command(after_help = "\
Each draw gives a tenant its weight's part of the sum of weights as probability. With --by coflow every coflow is drawn
for, with --by job every job: all coflows of a job are one tenant's, and a coflow without a job is a job. With --by
split every flow is drawn for. The flows of coflow 7 then make the coflows 7.a of tenant a and 7.b of tenant b, of job
7. Tenants that the trace names are replaced.

Examples:
  covey trace tenants trace.txt --shares a=1,b=1 -o two.jsonl
  covey trace dag trace.txt | covey trace tenants - --shares a=3,b=1 --by job --seed 2 -o jobs.jsonl
  covey trace tenants trace.txt --shares a=3,b=1 | covey compare - --tenants a=3,b=1")]
    Tenants {
        #[command(flatten)]
        ends: Ends,
        /// Tenants with weights: NAME=WEIGHT,…
        #[arg(long, value_name = "LIST")]
        shares: String,
        /// What is drawn for: job, coflow or split
        #[arg(long, default_value = "coflow")]
        by: String,
        /// The seed
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Make each coflow a job of six stages (Stream IV): q42 (TPC-DS query 42) or tao
    #[command(after_help = "\
Stages are exact copies; each waits for those before it.

Examples:
  covey trace dag trace.txt --shape q42 | covey compare - --policies fair,aalo,sebf
  covey trace dag trace.txt --shape tao -o jobs.jsonl")]
    Dag {
        #[command(flatten)]
        ends: Ends,
        /// q42 or tao
        #[arg(long, default_value = "q42")]
        shape: String,
    },
    /// Let hosts and links fail and return, flows move, begin again or be cancelled, and have
    /// second attempts
    #[command(after_help = "\
Failures and repairs of each host and link are exponential; everything that fails returns. Flows of a host or link that
is away wait. A second attempt comes from another port; the first of two to end makes the other needless. Apply other
transformations first: they refuse a trace with events.

Examples:
  covey trace failures trace.txt --mtbf 6h --mttr 2min --seed 2 -o failing.jsonl
  covey trace failures trace.txt --mtbf 1h --lose 0.5 --attempts 0.05 --after 20s | covey compare -
  covey trace failures trace.txt --mtbf 6h --links-of fat-tree:k=8 -o links.jsonl
  covey trace failures trace.txt --moves 0.01 --cancels 0.01 --restarts 0.01 --within 30s -o moved.jsonl")]
    Failures {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        how: Failing,
    },
    /// Write a generated workload: NAME[:key=value,…], as after builtin: elsewhere
    #[command(after_help = "\
Examples:
  covey trace generate fb-like:seed=2,coflows=100 -o hour.jsonl
  covey trace generate coflowsim-custom:jobs=50")]
    Generate {
        /// fb-like or coflowsim-custom, with parameters
        name: String,
        /// The file to write, - for standard output
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
    },
}

impl Transform {
    /// Runs the command, and prints a summary of the result on standard error.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Transform::Filter { min_width: None, min_skew: None, .. } => {
                let expected = "at least one of them";
                Err(Failure::argument("--min-width, --min-skew", expected, "none"))
            }
            Transform::Filter { ends, min_width, min_skew } => {
                ends.make(|w| Ok(transform::filter(w, Filter { min_width, min_skew })?))
            }
            Transform::Mantri { ends, cv_p50, cv_p90, seed } => {
                ends.make(|w| Ok(transform::mantri(w, Mantri { cv_p50, cv_p90, seed })?))
            }
            Transform::Skew { ends, sigma, seed } => {
                ends.make(|w| Ok(transform::skew(w, sigma, seed)?))
            }
            Transform::Scale { ends, time, size, ports } => {
                ends.make(|w| Ok(transform::scale(w, Scale { time, size, ports })?))
            }
            Transform::Fold { ends, by, ports } => ends.make(|w| Ok(by.fold(w, ports)?)),
            Transform::Burst { ends, group } => ends.make(|w| Ok(transform::burst(w, group)?)),
            Transform::Waves { ends, max, of, rate, seed } => {
                let rate = quantity::rate("--rate", &rate)?;
                let of: WavesOf = of.parse()?;
                ends.make(|w| Ok(transform::waves(w, Waves { max, rate, of, seed })?))
            }
            Transform::SplitReceivers { ends } => ends.make(|w| Ok(transform::split_receivers(w)?)),
            Transform::Tenants { ends, shares, by, seed } => {
                let shares = TenantWeights::parse(&shares)
                    .map_err(|problem| Failure::Input(format!("--shares: {problem}")))?;
                let by: TenantsBy = by.parse()?;
                ends.make(|w| Ok(transform::tenants(w, &Tenants { shares, by, seed })?))
            }
            Transform::Dag { ends, shape } => {
                let shape = shape.parse()?;
                ends.make(|w| Ok(transform::dag(w, shape)?))
            }
            Transform::Failures { ends, how } => ends.make(|w| how.apply(w)),
            Transform::Generate { name, output } => {
                let name = name.strip_prefix("builtin:").unwrap_or(&name);
                let ends = Ends { input: Input::of(format!("builtin:{name}")), output };
                ends.make(|workload| Ok(workload.clone()))
            }
        }
    }
}

impl Ends {
    fn make(
        self,
        transform: impl FnOnce(&Workload) -> Result<Workload, Failure>,
    ) -> Result<(), Failure> {
        let mut line = String::new();
        output::write_trace(&self.output, self.input.items(), || {
            let before = self.input.open()?;
            let after = transform(&before)?;
            line = Changes::between(&before, &after).to_string();
            Ok(after)
        })?;
        output::note(&line);
        Ok(())
    }
}

/// Reads a factor: `1.5`, `2/3`.
fn factor(text: &str) -> Result<f64, String> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    match (above.parse::<f64>(), below.parse::<f64>()) {
        (Ok(above), Ok(below)) => Ok(above / below),
        _ => Err(format!("expected a number or a fraction, like 1.5 or 2/3, found '{text}'")),
    }
}
