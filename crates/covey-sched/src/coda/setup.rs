//! The parameters of `coda`.

use covey_core::Layers;
use covey_identify::Metric;

use crate::queues::Queues;
use crate::settings::Settings;
use crate::spec::SpecError;

/// Makes `metric` that of the settings. Its radii are the defaults of `eps` and `tau`; if `eps`
/// alone is given, `tau` is in the same proportion to it.
pub(super) fn use_metric(settings: &mut Settings, metric: &Metric) {
    settings.default_to("eps", metric.radius);
    let radius = settings.text("eps").parse().unwrap_or(metric.radius);
    settings.default_to("tau", metric.leader_radius * (radius / metric.radius));
    settings.set_metric(metric.clone());
}

/// How the policy knows coflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// The policy finds coflows.
    Found,
    /// The policy finds coflows by communities alone. Somebody who knows coflows has told these.
    Told,
    /// Applications name them.
    Known,
}

/// The checked parameters.
pub(super) struct Setup {
    pub metric: Metric,
    pub diameter: f64,
    /// The least confidence with which flows are scheduled by what is found; 0 where nothing has to
    /// be found.
    pub least_confidence: f64,
    pub coflow_queues: Queues,
    /// The queues of flows; one if there is no order inside a coflow.
    pub flow_queues: Queues,
    pub layers: Layers,
    pub delta_s: f64,
    pub is_late: bool,
    pub labels: Labels,
}

impl Setup {
    pub fn from_settings(settings: &Settings) -> Result<Setup, SpecError> {
        let flag = [("true", true), ("false", false)];
        let coflow_queues = Queues::from_settings(settings)?;
        let inner = settings.choice("inner", &flag)?;
        let count = if inner { coflow_queues.count } else { 1 };
        let first_limit = settings.size("flow_q1")?;
        let labels = [("false", Labels::Found), ("true", Labels::Known), ("told", Labels::Told)];
        let labels = settings.choice("labels", &labels)?;
        let confidence = settings.number("confidence", 0.0, 1.0)?;
        let radius = settings.number("eps", 0.0, 1e6)?;
        let mut metric = settings.metric().cloned().unwrap_or_default();
        metric.radius = radius;
        metric.leader_radius = settings.number("tau", 0.0, radius)?;
        if labels == Labels::Told {
            metric = Metric::community_alone();
        }
        Ok(Setup {
            metric,
            diameter: settings.number("d", 0.0, 1e6)?,
            least_confidence: if labels == Labels::Found { confidence } else { 0.0 },
            coflow_queues,
            flow_queues: Queues { count, first_limit, ..coflow_queues },
            layers: settings
                .choice("queues", &[("strict", Layers::Strict), ("weighted", Layers::Weighted)])?,
            delta_s: settings.duration("delta")?,
            is_late: settings.choice("late", &flag)? && labels == Labels::Found,
            labels,
        })
    }
}
