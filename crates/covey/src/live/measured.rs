//! `covey reproduce` with `--live` and `--testbed`: values that are measured, not simulated.

use covey_experiment::{Progress, cores};
use covey_load::Replay;
use covey_proto::Compressor;
use covey_reproduce::plan::{
    HostCodec, LiveRun, Platform, RunId, RunResult, TestbedNetwork, TestbedRun,
};
use covey_reproduce::report::{Method, Report, TESTBED_RATE_BPS};
use covey_reproduce::reproduction::{
    MIN_LIVE_S, Reproduction, Scope, items, papers_with, replays_trace, replays_trace_live,
};
use covey_trace::results::CoflowOutcome;

use super::process;
use super::testbed::Emulated;
use crate::failure::Failure;
use crate::invocation;
use crate::progress::Bar;
use crate::reproduce::{Reproduce, bar};
use crate::transform::Folding;

/// Length of live runs whose load does not change, in seconds.
const STEADY_S: f64 = 30.0;

/// Does a live run.
async fn measure(
    plan: &Reproduction,
    run: RunId,
    seconds: f64,
    bar: &Bar,
) -> Result<RunResult, String> {
    let (run, workload) = plan.get(run);
    let Platform::Live(LiveRun { interval_s, reports_always }) = run.platform else {
        return Err("it is not a live run".to_owned());
    };
    let replay = Replay { workload, policy: &run.policy, interval_s, reports_always, seconds };
    let found = covey_load::replay(invocation::program(), &replay, &|s| bar.advance_s(s)).await;
    let live = Some(found.map_err(|error| error.to_string())?);
    Ok(RunResult { live, ..RunResult::default() })
}

impl Reproduce {
    /// Measures the values that need a live coordinator, or real flows.
    pub fn measure(&self) -> Result<Report, Failure> {
        if self.live { self.serve() } else { self.replay() }
    }

    fn serve(&self) -> Result<Report, Failure> {
        if items(self.paper(), Method::Live).is_empty() {
            return Err(Failure::argument("--live", papers_with(Method::Live), self.paper()));
        }
        // Where every agent always sends, the beginning is like the rest.
        let least_s = if replays_trace_live(self.paper()) { MIN_LIVE_S } else { STEADY_S };
        let seconds = self.seconds()?.unwrap_or(least_s);
        let plan = self.plan(Scope::Live { seconds })?;
        self.check_report()?;
        let bar = Bar::seconds(plan.runs().len() as f64 * seconds);
        let runtime = process::runtime(cores())?;
        let measure = |run| runtime.block_on(measure(&plan, run, seconds, &bar));
        let measured = plan.runs().map(measure).collect();
        Ok(plan.finish(measured))
    }

    fn replay(&self) -> Result<Report, Failure> {
        if self.every == 0 {
            return Err(Failure::argument("--every", "1 or more", self.every));
        }
        if self.seconds.is_some() && !replays_trace(self.paper()) {
            let expected = "a paper whose trace is replayed; --every shortens the others";
            return Err(Failure::argument("--seconds", expected, self.paper()));
        }
        let mut plan = self.plan(Scope::Testbed { every: self.every, seconds: self.seconds()? })?;
        plan.set_codecs(covey_codec::measure().into_iter().map(host_codec).collect());
        self.check_report()?;
        let bar = bar(&plan);
        let mut built: Option<(TestbedNetwork, Emulated)> = None;
        let mut measured = Vec::new();
        for run in plan.runs() {
            let (run, workload) = plan.get(run);
            let Platform::Testbed(TestbedRun { fold, ratio, network }) = run.platform else {
                return Err(Failure::Other(format!("{}: it is not a replay", run.policy)));
            };
            let workload = match fold {
                Some(every) => Folding::usual(every).fold(workload, network.hosts)?,
                None => workload.clone(),
            };
            let advance = |coflows| bar.advance(coflows);
            // There is one testbed at a time on a machine.
            let (_, testbed) = match built.take().filter(|(of, _)| *of == network) {
                Some(same) => built.insert(same),
                None => {
                    let testbed = Emulated::start(network, TESTBED_RATE_BPS / 8.0)?;
                    built.insert((network, testbed))
                }
            };
            let found = testbed.replay(&workload, &run.policy, ratio, &advance)?;
            let ccts_s = found.outcome.coflows.iter().map(CoflowOutcome::cct_s).collect();
            let wire_bytes = found.wire_bytes;
            measured.push(Ok(RunResult { ccts_s, wire_bytes, ..RunResult::default() }));
        }
        Ok(plan.finish(measured))
    }
}

/// What was measured of a codec on this machine.
fn host_codec(found: Compressor) -> HostCodec {
    HostCodec { name: found.codec.name().to_owned(), speed: found.speed, ratio: found.ratio }
}
