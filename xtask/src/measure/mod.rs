//! The measurements, a file each.

mod attach;
mod coordinator;
mod covey_policy;
mod ecmp_seeds;
mod fabrics;
mod flows;
mod growth;
mod htb;
mod identification;
mod policies;
mod relays;
mod rounding;
mod simulator;
mod spark;
mod tenants;
mod testbed;
mod tokens;

use clap::Subcommand;

use crate::Result;

/// The measurements, each with the page that has its result.
#[derive(Subcommand)]
pub enum Measurement {
    /// docs/measurements/simulator.md: policies on a trace, and on copies of it side by side
    Simulator(simulator::Arguments),
    /// docs/measurements/simulator.md: costs with more coflows, flows, ports, events
    Growth(growth::Arguments),
    /// docs/policies.md: every policy on a trace
    Policies(policies::Arguments),
    /// docs/policies.md: sizes × (1 ± 1e-12), and parallel copies of a trace; ten minutes
    Rounding(rounding::Arguments),
    /// docs/covey-policy.md: covey beside others on many workloads
    CoveyPolicy(covey_policy::Arguments),
    /// docs/fabrics.md: what networks with a core cost
    Fabrics(fabrics::Arguments),
    /// docs/fabrics.md: what collisions of ECMP cost
    EcmpSeeds(ecmp_seeds::Arguments),
    /// docs/identify.md: how well and how fast coflows are identified
    Identification(identification::Arguments),
    /// docs/tenants.md: what isolation of tenants costs and gives
    Tenants(tenants::Arguments),
    /// docs/measurements/coordinator.md: clients, agents and a replay that load a coordinator
    Coordinator(coordinator::Arguments),
    /// docs/measurements/coordinator.md: 40,000 agents behind relays
    Relays(relays::Arguments),
    /// docs/measurements/client-library.md: the library beside plain TCP, pacing, reaction
    Flows(flows::Arguments),
    /// docs/measurements/client-library.md: flows with and without tokens
    Tokens(tokens::Arguments),
    /// docs/measurements/client-library.md: HTB and DSCP; needs root
    Htb(htb::Arguments),
    /// docs/attach.md: what `covey attach` costs; needs root and BPF
    Attach(attach::Arguments),
    /// docs/testbed.md: the whole trace over real sockets, half an hour; needs root
    Testbed(testbed::Whole),
    /// docs/testbed.md: a short trace over real sockets between emulated hosts; needs root
    TestbedShort(testbed::Short),
    /// docs/testbed.md: the same while coordinator, agent, link and host break; needs root
    TestbedFaults(testbed::Faults),
    /// docs/compression.md: compressible flows, with and without compression; needs root
    TestbedCodec(testbed::Codec),
    /// docs/whatif.md: what the codecs of Spark write; needs Java 17 and Maven
    SparkCodecs(spark::Codecs),
    /// docs/papers.md: applications with and without Swallow; needs root, Java 17 and Maven
    SparkSwallow(spark::Swallow),
    /// docs/identify.md: how well coflows of Spark are found; needs root, BPF, Java 17 and Maven
    SparkLabels(spark::Labels),
    /// docs/spark.md: what the plug-in's modes cost; needs root, BPF, Java 17 and Maven
    SparkOverhead(spark::Overhead),
}

impl Measurement {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        match self {
            Self::Simulator(it) => it.run(),
            Self::Growth(it) => it.run(),
            Self::Policies(it) => it.run(),
            Self::Rounding(it) => it.run(),
            Self::CoveyPolicy(it) => it.run(),
            Self::Fabrics(it) => it.run(),
            Self::EcmpSeeds(it) => it.run(),
            Self::Identification(it) => it.run(),
            Self::Tenants(it) => it.run(),
            Self::Coordinator(it) => it.run(),
            Self::Relays(it) => it.run(),
            Self::Flows(it) => it.run(),
            Self::Tokens(it) => it.run(),
            Self::Htb(it) => it.run(),
            Self::Attach(it) => it.run(),
            Self::Testbed(it) => it.run(),
            Self::TestbedShort(it) => it.run(),
            Self::TestbedFaults(it) => it.run(),
            Self::TestbedCodec(it) => it.run(),
            Self::SparkCodecs(it) => it.run(),
            Self::SparkSwallow(it) => it.run(),
            Self::SparkLabels(it) => it.run(),
            Self::SparkOverhead(it) => it.run(),
        }
    }
}
