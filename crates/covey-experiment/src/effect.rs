//! Settings that change nothing, and what is guessed.

use covey_trace::Workload;

use crate::{Contender, Setup};

impl Setup {
    /// The settings that change nothing for these contenders on the workload of `trace`, and what
    /// is guessed of its tenants: a line for each.
    pub fn without_effect(
        &self,
        trace: &str,
        workload: &Workload,
        contenders: &[Contender],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(seed) = self.seed
            && !self.uses_seed(trace, contenders)
        {
            lines.push(format!(
                "seed {seed} changes nothing: the trace is no builtin one without a seed, no policy draws at random \
                 (philae:ports=random does), and there is no rung"
            ));
        }
        if self.metric.is_some() && contenders.iter().all(|it| !it.has("metric")) {
            lines.push(
                "the metric changes nothing: no policy compares flows (coda does)".to_owned(),
            );
        }
        if self.cpu.parse() != Ok(1.0) && contenders.iter().all(|it| it.compression.is_none()) {
            lines.push(
                "cpu changes nothing: no policy compresses flows (compress=lz4 does)".to_owned(),
            );
        }
        if !self.barrier && workload.coflows.iter().all(|coflow| coflow.parents.is_empty()) {
            lines.push(
                "barrier=false changes nothing: no coflow of the trace has parents".to_owned(),
            );
        }
        lines.extend(self.guessed_tenants(workload));
        lines
    }

    /// Whether another seed may give another result.
    pub fn uses_seed(&self, trace: &str, contenders: &[Contender]) -> bool {
        let has_own = |spec: &str| spec.contains("seed=");
        // A trace that is made with the seed of the setup may have that in its name.
        let is_ours = |seed: u64| trace.contains(&format!("seed={seed}"));
        let is_made =
            trace.starts_with("builtin:") && (!has_own(trace) || self.seed.is_some_and(is_ours));
        let draws = |it: &Contender| {
            it.has("seed")
                && !has_own(&it.label)
                && it.params.iter().any(|(_, value)| value == "random")
        };
        is_made || self.rung.is_some() || contenders.iter().any(draws)
    }
}

impl Contender {
    /// Whether its policy has this parameter.
    fn has(&self, name: &str) -> bool {
        self.params.iter().any(|(param, _)| param == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(setup: &Setup, trace: &str, policies: &str) -> Vec<String> {
        let contenders = setup.contenders(policies).expect("policies");
        let workload = covey_trace::open("builtin:fb-like:coflows=2").expect("a workload");
        setup.without_effect(trace, &workload, &contenders)
    }

    #[test]
    fn settings_without_effect_are_named() {
        let seeded = Setup { seed: Some(3), ..Setup::default() };
        for (trace, policies, changes_nothing) in [
            ("trace.txt", "fair,sebf", true),
            ("trace.txt", "fair,philae", true),
            ("trace.txt", "fair,philae:ports=random", false),
            ("trace.txt", "philae:ports=random,seed=2", true),
            ("builtin:fb-like", "fair", false),
            ("builtin:fb-like:seed=1", "fair", true),
        ] {
            let lines = lines(&seeded, trace, policies);
            assert_eq!(lines.len(), usize::from(changes_nothing), "{trace} {policies}: {lines:?}");
        }
        let on_a_rung = Setup { rung: Some("mixed".to_owned()), ..seeded };
        assert_eq!(lines(&on_a_rung, "trace.txt", "fair"), [""; 0]);
        let compressing = Setup { cpu: "0.5".to_owned(), ..Setup::default() };
        assert_eq!(lines(&compressing, "trace.txt", "fair,sebf:compress=lz4"), [""; 0]);
        assert!(lines(&compressing, "trace.txt", "fair")[0].starts_with("cpu changes nothing"));
        let whole = Setup { cpu: "1.0".to_owned(), ..Setup::default() };
        assert_eq!(lines(&whole, "trace.txt", "fair"), [""; 0]);
        let unbarred = Setup { barrier: false, ..Setup::default() };
        assert!(
            lines(&unbarred, "trace.txt", "fair")[0].starts_with("barrier=false changes nothing")
        );
        assert_eq!(lines(&Setup::default(), "trace.txt", "fair"), [""; 0]);
    }
}
