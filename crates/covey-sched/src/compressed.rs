//! `compress=CODEC`: any policy, with its flows compressed.
//!
//! The policy's plan stays as it is, and what it ranks is compressed as Swallow would (IPDPS 2018):
//! a flow waits until its host has compressed it, where that is faster than sending (Eq. 3). This
//! needs speeds and bandwidths but no sizes, so it goes with every level of knowledge. Policies
//! that know sizes have the longest flow of a coflow compressed first.

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, Codec, CoflowId, Compress, Compression, Criterion, Event,
    FlowId, Knowledge, LinkId, Plan, Policy, Time, Unlabelled, View, Wake, Wants,
};

/// The policy, with its flows compressed, and how they are.
pub(crate) fn compressed(policy: AnyPolicy, codec: Codec) -> (AnyPolicy, Compression) {
    let any_first = Compress::<Unlabelled>::with(codec).compression();
    match policy {
        AnyPolicy::Clairvoyant(inner) => {
            let compress = Compress::<Clairvoyant>::longest_first(codec);
            (AnyPolicy::Clairvoyant(wrap(inner, compress)), compress.compression())
        }
        AnyPolicy::NonClairvoyant(inner) => {
            (AnyPolicy::NonClairvoyant(wrap(inner, Compress::with(codec))), any_first)
        }
        AnyPolicy::Unlabelled(inner) => {
            (AnyPolicy::Unlabelled(wrap(inner, Compress::with(codec))), any_first)
        }
    }
}

fn wrap<K: Knowledge>(inner: Box<dyn Policy<K>>, compress: Compress<K>) -> Box<dyn Policy<K>> {
    Box::new(Compressed { inner, compress, is_stale: false })
}

struct Compressed<K> {
    inner: Box<dyn Policy<K>>,
    compress: Compress<K>,
    /// Whether the plan has to be given out again although the inner policy keeps it: other flows
    /// are to be compressed, or with another codec.
    is_stale: bool,
}

impl<K: Knowledge> Policy<K> for Compressed<K> {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn ranked_by(&self, flow: FlowId, link: LinkId, view: &View<'_, K>) -> Vec<Criterion> {
        self.inner.ranked_by(flow, link, view)
    }

    fn link_thresholds(&self) -> &[f64] {
        self.inner.link_thresholds()
    }

    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        self.inner.reads_flows_of(wake, now, coflows);
    }

    fn event(&mut self, event: Event, view: &View<'_, K>) {
        // A plan for all flows stays as it is when a coflow arrives, but the coflow is to be
        // compressed.
        self.is_stale |= matches!(event, Event::CoflowArrived(_));
        self.inner.event(event, view);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if let Some(codec) = view.measured_codec() {
            let measured = self.compress.by(codec);
            self.is_stale |= measured.compression() != self.compress.compression();
            self.compress = measured;
        }
        let answer = self.inner.plan(view, plan);
        if answer == Answer::Unchanged && !std::mem::take(&mut self.is_stale) {
            return Answer::Unchanged;
        }
        self.is_stale = false;
        plan.compress_all(self.compress);
        Answer::Replaced
    }
}
