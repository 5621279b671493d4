//! A policy's answer, in Python: what is asked for is written down, and becomes a plan of the level
//! of knowledge that the policy has.

use covey_core::{
    Backfill, Clairvoyant, Codec, CoflowId, Compress, Group, Knowledge, Layers, LinkId,
    NonClairvoyant, Plan, Rule, Share, Time, Unlabelled, View,
};
use pyo3::prelude::*;

use crate::errors::{InputError, KnowledgeError, bad};
use crate::view::{Number, Seen, present_coflow, present_flow, present_link};

/// A level of knowledge, as what Python asks for is granted by it.
pub trait Level: Knowledge + Sized {
    /// What is shown to Python.
    fn seen<'a>(view: &View<'a, Self>) -> Seen<'a>;

    /// The share that follows a rule; none where the rule needs sizes that are not known.
    fn share(rule: Rule) -> Option<Share<Self>>;
}

/// The rules that every level grants.
fn share_of_all<K>(rule: Rule) -> Option<Share<K>> {
    Some(match rule {
        Rule::MaxMin => Share::MAX_MIN,
        Rule::Equal => Share::EQUAL,
        Rule::AllOrNone => Share::ALL_OR_NONE,
        Rule::Matching => Share::MATCHING,
        Rule::MatchingByLoad => Share::MATCHING_BY_LOAD,
        Rule::OldestFirst => Share::OLDEST_FIRST,
        Rule::Hold => Share::HOLD,
        Rule::Rate(rate) => Share::rate(rate),
        Rule::Madd
        | Rule::MaddWithin(_)
        | Rule::Proportional
        | Rule::BySize
        | Rule::ShortestFirst => return None,
    })
}

impl Level for Clairvoyant {
    fn seen<'a>(view: &View<'a, Self>) -> Seen<'a> {
        Seen::Sized(*view)
    }

    fn share(rule: Rule) -> Option<Share<Self>> {
        match rule {
            Rule::Madd => Some(Share::MADD),
            Rule::MaddWithin(seconds) => Some(Share::madd_within(seconds)),
            Rule::Proportional => Some(Share::PROPORTIONAL),
            Rule::BySize => Some(Share::BY_SIZE),
            Rule::ShortestFirst => Some(Share::SHORTEST_FIRST),
            rule => share_of_all(rule),
        }
    }
}

impl Level for NonClairvoyant {
    fn seen<'a>(view: &View<'a, Self>) -> Seen<'a> {
        Seen::Unsized(*view)
    }

    fn share(rule: Rule) -> Option<Share<Self>> {
        share_of_all(rule)
    }
}

impl Level for Unlabelled {
    fn seen<'a>(view: &View<'a, Self>) -> Seen<'a> {
        Seen::Unlabelled(*view)
    }

    fn share(rule: Rule) -> Option<Share<Self>> {
        share_of_all(rule)
    }
}

/// Something that is asked for.
#[derive(Clone, Copy)]
enum Item {
    Push(Group, Rule),
    OpenLayer(f64),
    Give(CoflowId, LinkId, f64),
    Compress(Codec, bool),
    WakeAt(Time),
    WakeWhenSent(CoflowId, f64),
    WakeWhenDagSent(u64, f64),
    WakeWhenFlowSent(CoflowId, f64),
}

/// The coflows and flows that are served, their order, and how each shares what those before leave.
///
/// Ways to share: "maxmin" (exact max-min fairness), "equal" (one pass of equal shares),
/// "all-or-none" (the same rate for every flow), "matching" (one flow per port at full rate),
/// "matching-by-load" (the same, ports with most flows first), "oldest-first" (all flows in one
/// line), "hold" (nothing), "rate" (`value` bytes per second for each flow). For sized policies
/// also "madd" (all flows end together; with a `value` no earlier than after so many seconds),
/// "proportional" (max-min fairness in proportion to bytes left), "by-size", and "shortest-first".
#[pyclass(module = "covey", name = "Plan")]
pub struct PyPlan {
    items: Vec<Item>,
    layers: Layers,
    backfill: Backfill,
    /// The word for the policy's level of knowledge.
    knows: &'static str,
}

impl PyPlan {
    pub fn new(knows: &'static str) -> PyPlan {
        let (layers, backfill) = (Layers::default(), Backfill::default());
        PyPlan { items: Vec::new(), layers, backfill, knows }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        *self = PyPlan { items: std::mem::take(&mut self.items), ..PyPlan::new(self.knows) };
        self.items.clear();
    }

    /// Replaces the contents of `plan` with what the Python code has put into this one.
    pub fn fill<K: Level>(&self, plan: &mut Plan<K>) {
        plan.clear();
        plan.set_layers(self.layers);
        plan.set_backfill(self.backfill);
        for &item in &self.items {
            match item {
                Item::Push(group, rule) => {
                    // What the level does not grant was refused when it was asked for.
                    if let Some(share) = K::share(rule) {
                        plan.push(group, share);
                    }
                }
                Item::OpenLayer(weight) => plan.open_layer(weight),
                Item::Give(coflow, link, share) => plan.set_link_share(coflow, link, share),
                Item::Compress(codec, overlap) => {
                    plan.compress(Compress::with(codec).overlapping(overlap));
                }
                Item::WakeAt(time) => plan.wake_at(time),
                Item::WakeWhenSent(coflow, bytes) => plan.wake_when_sent(coflow, bytes),
                Item::WakeWhenDagSent(dag, bytes) => plan.wake_when_dag_sent(dag, bytes),
                Item::WakeWhenFlowSent(coflow, bytes) => plan.wake_when_flow_sent(coflow, bytes),
            }
        }
    }

    fn push(&mut self, group: Group, share: &str, value: Option<f64>) -> PyResult<()> {
        let rule = match (share, value) {
            ("maxmin", None) => Rule::MaxMin,
            ("equal", None) => Rule::Equal,
            ("all-or-none", None) => Rule::AllOrNone,
            ("matching", None) => Rule::Matching,
            ("matching-by-load", None) => Rule::MatchingByLoad,
            ("oldest-first", None) => Rule::OldestFirst,
            ("hold", None) => Rule::Hold,
            ("rate", Some(bytes_per_s)) => Rule::Rate(bytes_per_s),
            ("madd", None) => Rule::Madd,
            ("madd", Some(seconds)) => Rule::MaddWithin(seconds),
            ("proportional", None) => Rule::Proportional,
            ("by-size", None) => Rule::BySize,
            ("shortest-first", None) => Rule::ShortestFirst,
            _ => {
                let expected = "maxmin, equal, all-or-none, matching, matching-by-load, \
                    oldest-first, hold, madd, proportional, by-size or shortest-first, without a \
                    value, or rate \
                    with bytes per second, or madd with seconds";
                return Err(bad("share", expected, share));
            }
        };
        if self.knows != Clairvoyant::NAME && share_of_all::<NonClairvoyant>(rule).is_none() {
            return Err(KnowledgeError::new_err(format!(
                "an {} policy has no share '{share}': the allocator would look at sizes for it",
                self.knows
            )));
        }
        self.items.push(Item::Push(group, rule));
        Ok(())
    }
}

/// A number that is one.
pub fn number(argument: &str, unit: &str, value: f64) -> PyResult<f64> {
    if value.is_nan() {
        return Err(InputError::new_err(format!("{argument}: expected {unit}, found nan")));
    }
    Ok(value)
}

#[pymethods]
impl PyPlan {
    /// Serve every flow as one group; then nothing else can be in the plan.
    #[pyo3(signature = (share="maxmin"))]
    fn everything(&mut self, share: &str) -> PyResult<()> {
        self.push(Group::AllFlows, share, None)
    }

    /// Serve a coflow behind all others.
    #[pyo3(signature = (coflow, share="maxmin", value=None))]
    fn coflow(&mut self, coflow: Number, share: &str, value: Option<f64>) -> PyResult<()> {
        self.push(Group::Coflow(present_coflow(coflow)?), share, value)
    }

    /// Serve the flows of a coflow that cross a link.
    #[pyo3(signature = (coflow, link, share="maxmin", value=None))]
    fn coflow_at(
        &mut self,
        coflow: Number,
        link: Number,
        share: &str,
        value: Option<f64>,
    ) -> PyResult<()> {
        let group = Group::CoflowAt(present_coflow(coflow)?, present_link(link)?);
        self.push(group, share, value)
    }

    /// Serve a single flow.
    #[pyo3(signature = (flow, share="maxmin", value=None))]
    fn flow(&mut self, flow: (Number, Number), share: &str, value: Option<f64>) -> PyResult<()> {
        self.push(Group::Flow(present_flow(flow)?), share, value)
    }

    /// Open a layer behind all others.
    #[pyo3(signature = (weight=1.0))]
    fn open_layer(&mut self, weight: f64) {
        self.items.push(Item::OpenLayer(weight));
    }

    /// Give a coflow a share, 0 to 1, of a link for its own, with layers "by-node".
    fn give(&mut self, coflow: Number, link: Number, share: f64) -> PyResult<()> {
        self.items.push(Item::Give(present_coflow(coflow)?, present_link(link)?, share));
        Ok(())
    }

    /// Have what is added from now on compressed: "lz4", or SPEED:RATIO like "785MB/s:0.62".
    #[pyo3(signature = (codec, overlap=false))]
    fn compress(&mut self, codec: &str, overlap: bool) -> PyResult<()> {
        let parsed = Codec::parse(codec).map_err(|expected| bad("codec", &expected, codec))?;
        self.items.push(Item::Compress(parsed, overlap));
        Ok(())
    }

    /// Ask for `Policy.woke` at a time. Wake-ups are gone with the plan.
    fn wake_at(&mut self, time_s: f64) -> PyResult<()> {
        let time = Time::from_secs(number("time_s", "seconds", time_s)?);
        self.items.push(Item::WakeAt(time));
        Ok(())
    }

    /// Ask for `Policy.bytes_reached`.
    fn wake_when_sent(&mut self, coflow: Number, bytes: f64) -> PyResult<()> {
        let bytes = number("bytes_", "bytes", bytes)?;
        self.items.push(Item::WakeWhenSent(present_coflow(coflow)?, bytes));
        Ok(())
    }

    /// Ask for `Policy.dag_bytes_reached`.
    fn wake_when_dag_sent(&mut self, dag: u64, bytes: f64) -> PyResult<()> {
        self.items.push(Item::WakeWhenDagSent(dag, number("bytes_", "bytes", bytes)?));
        Ok(())
    }

    /// Ask for `Policy.flow_bytes_reached`.
    fn wake_when_flow_sent(&mut self, coflow: Number, bytes: f64) -> PyResult<()> {
        let bytes = number("bytes_", "bytes", bytes)?;
        self.items.push(Item::WakeWhenFlowSent(present_coflow(coflow)?, bytes));
        Ok(())
    }

    /// How layers share: what those before leave, or by weight, or as `give` says.
    #[getter]
    fn layers(&self) -> &'static str {
        match self.layers {
            Layers::Strict => "strict",
            Layers::Weighted => "weighted",
            Layers::PerPort => "by-node",
            Layers::Classes => "classes",
        }
    }

    #[setter]
    fn set_layers(&mut self, layers: &str) -> PyResult<()> {
        self.layers = match layers {
            "strict" => Layers::Strict,
            "weighted" => Layers::Weighted,
            "by-node" => Layers::PerPort,
            "classes" => Layers::Classes,
            _ => return Err(bad("layers", "strict, weighted, by-node or classes", layers)),
        };
        Ok(())
    }

    /// Which coflows are offered what is left over: none, all in order, or those that got nothing.
    #[getter]
    fn backfill(&self) -> &'static str {
        match self.backfill {
            Backfill::None => "none",
            Backfill::Greedy => "greedy",
            Backfill::Skipped => "skipped",
        }
    }

    #[setter]
    fn set_backfill(&mut self, backfill: &str) -> PyResult<()> {
        self.backfill = match backfill {
            "none" => Backfill::None,
            "greedy" => Backfill::Greedy,
            "skipped" => Backfill::Skipped,
            _ => return Err(bad("backfill", "none, greedy or skipped", backfill)),
        };
        Ok(())
    }
}
