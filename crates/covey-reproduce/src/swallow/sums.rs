//! Table VI: CCTs of CoflowSim's own workload.

use super::closed_form;
use super::custom::custom;
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::plan::Platform;

/// The rows of the table, each with its policy in CoflowSim.
const ROWS: [(&str, &str); 6] = [
    ("SEBF", "sebf"),
    ("SCF/NCF/LCF", "scf"),
    ("SCF/NCF/LCF", "ncf"),
    ("SCF/NCF/LCF", "lcf"),
    ("PFF/FAIR", "fair"),
    ("PFP", "pfp"),
];

/// Speed of CoflowSim's ports in bits per second: 128 MiB/s.
const PORT_RATE_BPS: f64 = 1_073_741_824.0;

pub(super) const TABLE_VI: Item = Item {
    place: "Table VI",
    section: "VI-A2",
    shows: "mean and sum of CCTs",
    plan: Planning::Runs(|planner| {
        let trace = custom(planner)?;
        let plan = &mut planner.plan;
        let runs = ROWS.map(|(row, policy)| (row, policy, plan.coflowsim(trace, policy)));
        let exact = ["sebf", "fvdf", "fvdf:logbase=1", "fair", "pfp"]
            .map(|policy| (policy, plan.run_on(Platform::at(PORT_RATE_BPS), trace, policy)));
        Ok(Box::new(move |results, section| {
            section.note(
                "The paper calls this a trace of Spark. Its numbers are those that CoflowSim prints without a \
                 trace: eight coflows that all arrive at 0, drawn by java.util.Random with seed 13. A \
                 millisecond of the paper's setting is 1/1024 of a second. LCF, SCF and NCF share one row in \
                 the paper. FVDF is CoflowSim's SEBF divided by the closed form of the public code. That code \
                 draws without a seed in which quanta it compresses, so no two of its runs agree to the digit.",
            );
            let coflows = results.plan.workload(trace).coflows.len() as f64;
            let published = |row, column| results.published("Table VI", row, column);
            for (row, policy, run) in runs {
                let mean = results.mean(run)? * 1024.0;
                for (column, ours) in [("AVG CCT", mean), ("Job Duration", mean * coflows)] {
                    // Means are printed without decimals.
                    let within = if column == "AVG CCT" { 1e-5 } else { 0.0 };
                    let what = format!("{policy}, {column}");
                    section.add(
                        Finding::new(what, Setting::PapersSetting, &[run], ours)
                            .unit("ms")
                            .published(published(row, column), within),
                    );
                }
            }
            let sebf = results.mean(runs[0].2)? * 1024.0 * coflows;
            let ours = sebf / closed_form::gain(125e6);
            section.add(
                Finding::new("fvdf, Job Duration", Setting::PapersSetting, &[runs[0].2], ours)
                    .unit("ms")
                    .published(published("FVDF", "Job Duration"), 0.005)
                    .check(),
            );
            for (policy, run) in exact {
                let what = format!("{policy}, Job Duration");
                let ours = results.mean(run)? * 1000.0 * coflows;
                section.add(Finding::new(what, Setting::FairComparison, &[run], ours).unit("ms"));
            }
            Ok(())
        }))
    }),
};
