//! A policy for each tenant.
//!
//! [`for_each_tenant`] makes one policy of many: each tenant has an instance of its own, which sees
//! the tenant's coflows alone and is told of nothing else. So no tenant can change what the policy
//! has learnt of another one's coflows: their sizes, queues or pilots. The plan has a part for each
//! tenant ([`Ranking::tenants`](crate::Ranking::tenants)), and allocators divide the capacity of
//! links among these parts.
//!
//! An instance is asked for its plan in rounds in which it was told something, or in which nobody
//! was. It sees the whole capacity of links. Hosts do not go on by themselves between two plans,
//! and do not decide on tiny coflows by themselves: they know nothing of tenants.

use crate::plan::wakes::{Sender, Wake};
use crate::plan::{Plan, TenantPlan};
use crate::policy::criterion::Criterion;
use crate::policy::event::Event;
use crate::policy::knowledge::Knowledge;
use crate::policy::view::{Shown, View};
use crate::policy::{Answer, AnyPolicy, Policy, Wants};
use crate::values::ids::{CoflowId, FlowId, LinkId, TenantId};
use crate::values::time::Time;

/// Makes a policy that has an instance for each tenant, each made by `make`. The weight of the
/// tenant with number k is `weights[k]`, and 1 for tenants beyond them.
///
/// # Errors
/// The policy that `make` has made, if it puts flows into groups of its own: it cannot know to whom
/// a flow belongs.
pub fn for_each_tenant(
    weights: Vec<f64>,
    mut make: impl FnMut() -> AnyPolicy + Send + 'static,
) -> Result<AnyPolicy, AnyPolicy> {
    const SAME: &str = "instances of one policy";
    match make() {
        own_groups if own_groups.wants().regroups => Err(own_groups),
        AnyPolicy::Clairvoyant(first) => {
            let more = move || match make() {
                AnyPolicy::Clairvoyant(policy) => policy,
                _ => unreachable!("{SAME}"),
            };
            let policy = ForEachTenant::new(weights, first, Box::new(more));
            Ok(AnyPolicy::Clairvoyant(Box::new(policy)))
        }
        AnyPolicy::NonClairvoyant(first) => {
            let more = move || match make() {
                AnyPolicy::NonClairvoyant(policy) => policy,
                _ => unreachable!("{SAME}"),
            };
            let policy = ForEachTenant::new(weights, first, Box::new(more));
            Ok(AnyPolicy::NonClairvoyant(Box::new(policy)))
        }
        unlabelled @ AnyPolicy::Unlabelled(_) => Err(unlabelled),
    }
}

/// Makes an instance of a policy.
type Make<K> = Box<dyn FnMut() -> Box<dyn Policy<K>> + Send>;

/// An instance of a policy for each tenant.
struct ForEachTenant<K> {
    weights: Vec<f64>,
    make: Make<K>,
    /// By [`TenantId`]; at least one.
    instances: Vec<Instance<K>>,
    /// By [`CoflowId`]: the tenants of those that are present.
    tenant_of: Vec<TenantId>,
}

/// The policy of one tenant, and its plan.
struct Instance<K> {
    policy: Box<dyn Policy<K>>,
    plan: Plan<K>,
    /// The tenant's coflows.
    shown: Shown,
    /// Whether it was told anything since it was last asked for its plan.
    is_told: bool,
}

impl<K: Knowledge> Instance<K> {
    fn new(policy: Box<dyn Policy<K>>) -> Instance<K> {
        Instance { policy, plan: Plan::default(), shown: Shown::default(), is_told: false }
    }

    fn tell(&mut self, event: Event, view: &View<'_, K>) {
        self.is_told = true;
        self.policy.event(event, &view.showing(&self.shown));
    }

    /// Takes what has come out of the wake-ups that the instance waits for. Returns whether there
    /// was any.
    fn take_come(&mut self, event: Event, now: Time) -> bool {
        let wakes = self.plan.wakes_mut();
        let wake = match event {
            Event::Woke => {
                let times: Vec<Time> = wakes.times().filter(|time| time.due(now)).collect();
                return times.into_iter().fold(false, |any, time| wakes.take(Wake::At(time)) | any);
            }
            Event::BytesReached(id, bytes) => Wake::WhenSent(id, bytes),
            Event::DagBytesReached(external, bytes) => Wake::WhenDagSent(external, bytes),
            Event::LinkBytesReached(id, link, bytes) => Wake::WhenPassed(id, link, bytes),
            Event::FlowBytesReached(id, bytes) => Wake::WhenFlowSent(id, bytes),
            _ => return false,
        };
        wakes.take(wake)
    }
}

impl<K: Knowledge> ForEachTenant<K> {
    fn new(weights: Vec<f64>, first: Box<dyn Policy<K>>, make: Make<K>) -> ForEachTenant<K> {
        let instances = vec![Instance::new(first)];
        ForEachTenant { weights, make, instances, tenant_of: Vec::new() }
    }

    /// The instance of a coflow's tenant.
    fn of(&mut self, id: CoflowId) -> Option<&mut Instance<K>> {
        self.instances.get_mut(self.tenant_of.get(id.index())?.index())
    }

    /// Notes whose coflow has arrived.
    fn admit(&mut self, id: CoflowId, view: &View<'_, K>) {
        let tenant = view.tenant(id);
        self.tenant_of.resize(self.tenant_of.len().max(view.slots()), TenantId::default());
        self.tenant_of[id.index()] = tenant;
        while self.instances.len() <= tenant.index() {
            self.instances.push(Instance::new((self.make)()));
        }
    }

    /// Brings the list of a tenant's coflows up to date.
    fn list(&mut self, id: CoflowId, view: &View<'_, K>) {
        let tenant = self.tenant_of[id.index()];
        let present = &mut self.instances[tenant.index()].shown.present;
        present.clear();
        present.extend(view.coflows().iter().filter(|&&id| view.tenant(id) == tenant));
    }

    /// Shows each instance which of its coflows have changed.
    fn show_changed(&mut self, view: &View<'_, K>) {
        for (k, instance) in self.instances.iter_mut().enumerate() {
            let is_own = |&id: &CoflowId| view.is_present(id) && view.tenant(id).index() == k;
            let changed = &mut instance.shown.changed;
            changed.extend_from_slice(view.changed());
            changed.retain(is_own);
            changed.sort_unstable();
            changed.dedup();
        }
    }

    /// Writes the plan of all tenants.
    fn write(&mut self, plan: &mut Plan<K>) {
        let weight = |k: usize| self.weights.get(k).copied().unwrap_or(1.0);
        let of_tenant = |(k, instance): (usize, &Instance<K>)| TenantPlan {
            weight: weight(k),
            ranking: instance.plan.ranking().clone(),
        };
        plan.write_tenants(self.instances.iter().enumerate().map(of_tenant));
    }

    /// Has the plan of all tenants wait for what those of single tenants wait for.
    fn ask(&self, plan: &mut Plan<K>) {
        let asked = self.instances.iter().flat_map(|instance| instance.plan.wakes().all());
        let asked: Vec<Wake> = asked.collect();
        if plan.wakes().all() != asked {
            plan.wakes_mut().replace(&asked);
        }
    }
}

impl<K: Knowledge> Policy<K> for ForEachTenant<K> {
    fn wants(&self) -> Wants {
        Wants { in_turn: false, start_small: 0, ..self.instances[0].policy.wants() }
    }

    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        let of = |id: CoflowId| self.tenant_of.get(id.index()).map(|tenant| tenant.index());
        let only = match wake {
            Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) | Wake::WhenPassed(id, ..) => of(id),
            Wake::At(_) | Wake::WhenDagSent(..) => None,
        };
        for (k, instance) in self.instances.iter().enumerate() {
            let waits = |sender: Sender| instance.plan.wakes().of(sender).next().is_some();
            let is_asked = match wake {
                Wake::WhenDagSent(external, _) => waits(Sender::Dag(external)),
                _ => only.is_none_or(|only| only == k),
            };
            if is_asked {
                instance.policy.reads_flows_of(wake, now, coflows);
            }
        }
    }

    fn ranked_by(&self, flow: FlowId, link: LinkId, view: &View<'_, K>) -> Vec<Criterion> {
        let tenant = self.tenant_of.get(flow.coflow.index()).map_or(0, |tenant| tenant.index());
        let Some(instance) = self.instances.get(tenant) else { return Vec::new() };
        instance.policy.ranked_by(flow, link, &view.showing(&instance.shown))
    }

    fn link_thresholds(&self) -> &[f64] {
        self.instances[0].policy.link_thresholds()
    }

    fn event(&mut self, event: Event, view: &View<'_, K>) {
        if let Event::CoflowArrived(id) = event {
            self.admit(id, view);
        }
        if let Event::CoflowArrived(id) | Event::CoflowEnded(id) = event {
            self.list(id, view);
        }
        let now = view.now();
        match event {
            Event::Woke => {
                for instance in &mut self.instances {
                    if instance.take_come(event, now) {
                        instance.tell(event, view);
                    }
                }
            }
            Event::DagBytesReached(..) => {
                // If two tenants wait for this, the event comes twice.
                let waiting = self
                    .instances
                    .iter_mut()
                    .find_map(|instance| instance.take_come(event, now).then_some(instance));
                waiting.into_iter().for_each(|instance| instance.tell(event, view));
            }
            _ => {
                if let Some(instance) = event.coflow().and_then(|id| self.of(id)) {
                    instance.take_come(event, now);
                    instance.tell(event, view);
                }
            }
        }
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        self.show_changed(view);
        let nobody_told = self.instances.iter().all(|instance| !instance.is_told);
        let mut answer = Answer::Unchanged;
        for instance in &mut self.instances {
            if std::mem::take(&mut instance.is_told) || nobody_told {
                let view = view.showing(&instance.shown);
                if instance.policy.plan(&view, &mut instance.plan) == Answer::Replaced {
                    answer = Answer::Replaced;
                }
                instance.shown.changed.clear();
                instance.plan.clear_edits();
                instance.plan.wakes_mut().take_fresh();
            }
        }
        if answer == Answer::Replaced {
            self.write(plan);
        }
        self.ask(plan);
        answer
    }
}
