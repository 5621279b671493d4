//! `order`: coflows in the order of a formula that the user writes, smaller values first.
//!
//! The names of the formula decide what the policy knows. With names that need no size it is
//! non-clairvoyant, and the flows of a coflow share by max-min fairness. With any other name it
//! shares by MADD and backfill, as [`ranked`](crate::ranked) says. A value is calculated again when
//! a coflow arrives or ends that the coflow can meet, and what is no number counts as infinite.
//! Values that differ by no more than 10⁻⁹ of the smaller one are equal; then the order is that of
//! arrival.

use covey_core::{
    AnyPolicy, Backfill, Clairvoyant, CoflowId, Criterion, Named, Promises, Share, View,
};

use crate::formula::Formula;
use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{Key, Ranked};
use crate::settings::Settings;
use crate::spec::{Param, SpecError};

pub(crate) const INFO: Info = Info {
    name: "order",
    knows: "unsized",
    summary: "coflows in the order of a formula of one's own, smaller values first",
    params: &[Param {
        name: "by",
        default: "width*sent",
        help: "a formula with + - * / ^, parentheses, sqrt(), log(), floor(), numbers, and of the coflow: arrival, deadline (s; infinite if it has none), weight, flows (not ended), senders, receivers, width (the smaller of these two), sent (bytes); and, which make it clairvoyant, size, left, longest (bytes of all flows, left of all, left of the longest), bottleneck (s, the time that it needs alone)",
    }],
    source: "Covey; shares as SEBF in Varys (SIGCOMM 2014) 5.2 with sizes, else as fifo",
    promises: |_| Ok(Promises { conserves_work: true, ..Promises::default() }),
    make: |settings| {
        let without_sizes = Formula::parse(settings.text("by"), &unsized_names());
        Ok(match without_sizes {
            Ok(formula) => AnyPolicy::NonClairvoyant(Box::new(ordered(
                formula,
                Share::MAX_MIN,
                Backfill::None,
            ))),
            Err(_) => AnyPolicy::Clairvoyant(Box::new(ordered(
                with_sizes(settings)?,
                Share::MADD,
                Backfill::Greedy,
            ))),
        })
    },
};

/// What a name of the formula stands for.
#[derive(Debug)]
struct Quantity<K> {
    of: fn(&View<'_, K>, CoflowId) -> f64,
    /// Whether it is what has been sent, which has to be reported.
    is_sent: bool,
}

impl<K> Clone for Quantity<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Quantity<K> {}

type Name<K> = (&'static str, Quantity<K>);

const fn name<K>(name: &'static str, of: fn(&View<'_, K>, CoflowId) -> f64) -> Name<K> {
    (name, Quantity { of, is_sent: false })
}

/// The names that need no size.
fn unsized_names<K: Named>() -> [Name<K>; 8] {
    [
        name("arrival", |view, coflow| view.arrival(coflow).as_secs()),
        name("deadline", |view, coflow| {
            let allowed_s = view.deadline_s(coflow).unwrap_or(f64::INFINITY);
            view.arrival(coflow).as_secs() + allowed_s
        }),
        name("weight", |view, coflow| view.weight(coflow)),
        name("flows", |view, coflow| view.unfinished(coflow) as f64),
        name("senders", |view, coflow| view.senders(coflow) as f64),
        name("receivers", |view, coflow| view.receivers(coflow) as f64),
        name("width", |view, coflow| view.senders(coflow).min(view.receivers(coflow)) as f64),
        ("sent", Quantity { of: |view, coflow| view.attained(coflow).bytes, is_sent: true }),
    ]
}

/// A formula with the names of a clairvoyant policy.
fn with_sizes(settings: &Settings) -> Result<Formula<Quantity<Clairvoyant>>, SpecError> {
    let of_sizes = [
        name("size", |view, coflow| view.total(coflow)),
        name("left", |view, coflow| view.left_of(coflow)),
        name("longest", |view, coflow| {
            view.flows(coflow).map(|flow| view.left(flow)).fold(0.0, f64::max)
        }),
        name("bottleneck", |view, coflow| view.bottleneck_s(coflow)),
    ];
    let names = [&unsized_names::<Clairvoyant>()[..], &of_sizes].concat();
    Formula::parse(settings.text("by"), &names).map_err(|expected| settings.bad("by", &expected))
}

fn ordered<K: Named>(
    formula: Formula<Quantity<K>>,
    share: Share<K>,
    backfill: Backfill,
) -> Ranked<K> {
    let attained = formula.any(&|quantity| quantity.is_sent);
    let key = Key::new(
        move |view: &View<'_, K>, coflow| {
            let value = formula.value(&|quantity| (quantity.of)(view, coflow));
            if value.is_nan() { f64::INFINITY } else { value }
        },
        |value| Criterion::number("value of the formula", value),
    );
    let mut ranked = Ranked::new(key, Tie::Relative, share, backfill);
    ranked.wants.attained = attained;
    ranked
}
