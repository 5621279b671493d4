//! What a replay has found, as texts.

use std::fmt::Write as _;

use covey_identify::{Accuracies, accuracy};
use covey_report::Comparison;
use covey_testbed::{Broken, Fault, Found};
use covey_trace::Workload;

use crate::failure::Failure;
use crate::output;

/// The measurements of a contender.
pub struct Measured {
    pub spec: String,
    pub found: Found,
}

/// Prints the fate of coflows and bytes in a run with faults.
pub fn what_became(
    workload: &Workload,
    faults: &[Fault],
    measured: &[Measured],
) -> Result<(), Failure> {
    let dead: Vec<u32> = faults
        .iter()
        .filter(|fault| matches!(fault.what, Broken::Host(_)))
        .filter_map(Fault::host)
        .collect();
    let is_dead = |host: u32| dead.contains(&host);
    output::print(|out| {
        writeln!(
            out,
            "contender           coflows  ended  failed  not scheduled  mean CCT, s  bytes that came as sent"
        )?;
        for Measured { spec, found } in measured {
            let (coflows, failed) = (workload.coflows.len(), found.failed.len());
            let ended = (0..coflows).filter(|k| !found.failed.contains(k));
            let ccts = ended.map(|k| {
                let it = &found.outcome.coflows[k];
                it.completion_s - it.release_s
            });
            let mean_s = ccts.sum::<f64>() / (coflows - failed).max(1) as f64;
            writeln!(
                out,
                "{spec:20} {coflows:7} {:6} {failed:7} {:14} {mean_s:12.4}  {:.0} of {:.0}",
                coflows - failed,
                found.unregistered,
                found.bytes,
                workload.bytes(),
            )?;
            if failed > 0 {
                let ids = found.failed.iter().map(|&k| workload.coflows[k].id.as_str());
                writeln!(out, "  failed with a host: {}", ids.collect::<Vec<_>>().join(" "))?;
            }
        }
        Ok(())
    })?;
    for Measured { spec, found } in measured {
        for &k in &found.failed {
            let coflow = &workload.coflows[k];
            if !coflow.flows.iter().any(|flow| is_dead(flow.src) || is_dead(flow.dst)) {
                let what = format!("{spec}: coflow {} failed, whose hosts all lived", coflow.id);
                return Err(Failure::Other(what));
            }
        }
        if found.unsettled > 0 {
            let what = format!(
                "{spec}: the coordinator has not confirmed all that ended at {} hosts",
                found.unsettled
            );
            return Err(Failure::Other(what));
        }
    }
    Ok(())
}

/// How many of the flows were put with those of their coflow, where applications name none.
pub fn identified(workload: &Workload, measured: &[Measured]) -> String {
    let mut text = String::new();
    for Measured { spec, found } in measured.iter().filter(|it| !it.found.groups.is_empty()) {
        let groups: Vec<u32> = found.groups.iter().map(|(.., group)| *group as u32).collect();
        let coflows: Vec<u32> = found.groups.iter().map(|(coflow, ..)| *coflow).collect();
        let Accuracies { per_flow, per_coflow } = accuracy(&groups, &coflows);
        let _ = writeln!(
            text,
            "{spec}: the coordinator was seen to have put {} of {} flows into coflows: per flow, \
             precision {:.3} and recall {:.3}; per coflow, {:.3} and {:.3}",
            groups.len(),
            workload.num_flows(),
            per_flow.precision,
            per_flow.recall,
            per_coflow.precision,
            per_coflow.recall,
        );
    }
    text
}

/// Measured and predicted mean CCTs, and the cost of the system itself.
pub fn against_predictions(comparison: &Comparison, measured: &[Measured]) -> String {
    let mut text = String::from(
        "                          mean CCT, s              CPU, % of a core\n\
         contender           measured  simulated  ratio   coordinator  agent  bytes checked\n",
    );
    let pairs = comparison.summaries().chunks(2).zip(measured);
    for (pair, Measured { spec, found }) in pairs {
        let (real, predicted) = (pair[0].cct_s.mean, pair[1].cct_s.mean);
        let share = |cpu_s: f64| 100.0 * cpu_s / found.wall_s;
        let agent = share(found.agents_cpu_s) / f64::from(pair[0].ports);
        let wire = found.wire_bytes.map_or_else(String::new, |wire| {
            format!("; {:.1} % on the wire", 100.0 * wire / found.bytes)
        });
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{spec:20} {real:9.4} {predicted:10.4} {:6.2} {:13.1} {agent:6.2}  {:.0}, all right{wire}",
            real / predicted,
            share(found.coordinator_cpu_s),
            found.bytes,
        );
    }
    for Measured { spec, found } in measured {
        let mut delays = found.decision_delays_s.clone();
        delays.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| delays.get((part * delays.len() as f64) as usize).copied();
        if let (Some(median), Some(p95)) = (at(0.5), at(0.95)) {
            let (count, median, p95) = (delays.len(), median * 1e3, p95 * 1e3);
            let _ = writeln!(
                text,
                "{spec}: a decision of a receiver was in force at the sender after {median:.2} ms (median), \
                 {p95:.2} ms (p95; {count} decisions)"
            );
        }
    }
    text
}
