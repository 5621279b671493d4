//! `compress=CODEC`: any policy, with its flows compressed.
//!
//! The policy's plan stays as it is, and what it ranks is compressed as Swallow would (IPDPS 2018):
//! a flow waits until its host has compressed it, where that is faster than sending (Eq. 3). This
//! needs speeds and bandwidths but no sizes, so it goes with every level of knowledge. Policies that
//! know sizes have the longest flow of a coflow compressed first.

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, Codec, CoflowId, Compress, Compression, FlowId, Knowledge,
    LinkId, Plan, Policy, Promises, View, Wants,
};

/// The policy, with its flows compressed, and how they are.
pub(crate) fn compressed(policy: AnyPolicy, codec: Codec) -> (AnyPolicy, Compression) {
    match policy {
        AnyPolicy::Clairvoyant(inner) => {
            let compress = Compress::<Clairvoyant>::longest_first(codec);
            (
                AnyPolicy::Clairvoyant(Box::new(Compressed { inner, compress, is_stale: false })),
                compress.compression(),
            )
        }
        AnyPolicy::NonClairvoyant(inner) => {
            let compress = Compress::with(codec);
            (
                AnyPolicy::NonClairvoyant(Box::new(Compressed {
                    inner,
                    compress,
                    is_stale: false,
                })),
                compress.compression(),
            )
        }
    }
}

struct Compressed<K> {
    inner: Box<dyn Policy<K>>,
    compress: Compress<K>,
    /// Whether a plan that stays as it is has to be said again: who is compressed, or by what, is another.
    is_stale: bool,
}

impl<K: Knowledge> Policy<K> for Compressed<K> {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        // A plan for everybody stays as it is.
        self.is_stale = true;
        self.inner.coflow_arrived(coflow, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.inner.flows_started(coflow, view);
    }

    fn flow_restarted(&mut self, flow: FlowId, view: &View<'_, K>) {
        self.inner.flow_restarted(flow, view);
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, K>) {
        self.inner.flow_ended(flow, view);
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, view: &View<'_, K>) {
        self.inner.port_drained(coflow, link, view);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.inner.coflow_ended(coflow, view);
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.inner.bytes_reached(coflow, bytes, view);
    }

    fn link_limits(&self) -> &[f64] {
        self.inner.link_limits()
    }

    fn flow_bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.inner.flow_bytes_reached(coflow, bytes, view);
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, view: &View<'_, K>) {
        self.inner.dag_bytes_reached(external, bytes, view);
    }

    fn promises(&self) -> Promises {
        self.inner.promises()
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        bytes: f64,
        view: &View<'_, K>,
    ) {
        self.inner.link_bytes_reached(coflow, link, bytes, view);
    }

    fn codec_measured(&mut self, codec: Codec) {
        self.compress = self.compress.by(codec);
        self.is_stale = true;
        self.inner.codec_measured(codec);
    }

    fn woke(&mut self, view: &View<'_, K>) {
        self.inner.woke(view);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        let answer = self.inner.plan(view, plan);
        if answer == Answer::Unchanged && !std::mem::take(&mut self.is_stale) {
            return Answer::Unchanged;
        }
        self.is_stale = false;
        plan.compress_all(self.compress);
        Answer::Replaced
    }
}
