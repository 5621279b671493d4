//! Settings that change while the coordinator runs.
//!
//! Another policy begins as after a start of the process, from what the journal says: so nothing of
//! the policy before has to be taken over, and what a policy learns after a start is tested anyway.
//! First the epoch of the start is written, as a start does. Meanwhile requests wait, and agents
//! are not heard. Then agents join again, whether the policy has begun or not, and repeat what
//! nobody has acknowledged.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use covey_api::{Problem, Settings, SettingsStatus};
use covey_core::Fabric;
use tokio::sync::{mpsc, oneshot};

use super::command::{Changed, Command};
use super::config::{ServeError, ServerConfig};
use super::decide::Decider;
use super::problems::stopping;
use super::runnable::Runnable;
use super::switch::Switch;
use crate::connections::lock;
use crate::ranges::check_range;
use crate::state::Config;

/// Changes settings of a coordinator that runs.
#[derive(Debug, Clone)]
pub struct Control(pub(super) mpsc::WeakSender<Command>);

impl Control {
    /// Changes settings; those that are not named stay as they are. Returns those in force.
    ///
    /// # Errors
    /// When they cannot be: all stay as they were. When the coordinator has stopped.
    pub async fn change(&self, settings: Settings) -> Result<SettingsStatus, Problem> {
        let (sender, changed) = oneshot::channel();
        let commands = self.0.upgrade().ok_or_else(stopping)?;
        let command = Command::Change(Box::new(settings), sender);
        commands.send(command).await.map_err(|_| stopping())?;
        changed.await.map_err(|_| stopping())?
    }
}

impl ServerConfig {
    /// What of it changes while a coordinator runs.
    pub fn settings(&self) -> Settings {
        let Config {
            max_coflows,
            max_flows,
            max_expired,
            max_gone,
            lease_s,
            forget_after_s,
            idle_after_s,
            ..
        } = self.core;
        Settings {
            policy: Some(self.policy.clone()),
            tenants: Some(self.tenants.clone()),
            read_only: Some(self.read_only),
            max_coflows: Some(max_coflows),
            max_flows: Some(max_flows),
            max_expired: Some(max_expired),
            max_gone: Some(max_gone),
            max_requests: Some(self.max_requests_per_s),
            lease_s: Some(lease_s),
            forget_after_s: Some(forget_after_s),
            idle_after_s: Some(idle_after_s),
        }
    }

    /// The same with these settings.
    pub fn set(&mut self, settings: Settings) {
        self.core = config_of(&settings, self.core);
        self.policy = settings.policy.unwrap_or_default();
        self.tenants = settings.tenants.unwrap_or_default();
        self.read_only = settings.read_only.unwrap_or_default();
        self.max_requests_per_s = settings.max_requests.unwrap_or_default();
    }
}

/// Numbers of coflows or flows.
const COUNTS: RangeInclusive<usize> = 0..=1_000_000_000;
/// Seconds of a lease.
const LEASE_S: RangeInclusive<f64> = 0.1..=86_400.0;
/// Seconds for which something that has gone may be remembered.
const FORGET_AFTER_S: RangeInclusive<f64> = 0.01..=31_536_000.0;
/// Seconds of silence.
const IDLE_AFTER_S: RangeInclusive<f64> = 0.01..=86_400.0;

impl Decider {
    /// The settings in force.
    fn settings(&self) -> Settings {
        let config = self.coordinator.config();
        Settings {
            policy: Some(lock(&self.shared.policy).clone()),
            tenants: Some(lock(&self.shared.tenants).clone()),
            read_only: Some(self.shared.read_only.load(Ordering::Relaxed)),
            max_coflows: Some(config.max_coflows),
            max_flows: Some(config.max_flows),
            max_expired: Some(config.max_expired),
            max_gone: Some(config.max_gone),
            max_requests: Some(self.shared.rate.per_s()),
            lease_s: Some(config.lease_s),
            forget_after_s: Some(config.forget_after_s),
            idle_after_s: Some(config.idle_after_s),
        }
    }

    /// The settings in force, and what the policy lacks for its work.
    fn status(&self) -> SettingsStatus {
        let without = self.coordinator.without_sizes();
        SettingsStatus {
            settings: self.settings(),
            coflows_without_sizes: without.len(),
            without_sizes: without.keys().copied().take(LISTED).collect(),
        }
    }

    /// Settings are to change.
    pub(super) fn change(&mut self, change: Settings, changed: Changed) {
        // The client may have left.
        let answer = |changed: Changed, status| _ = changed.send(status);
        if change == Settings::default() {
            return answer(changed, Ok(self.status()));
        }
        if let Err(problem) = check(&change) {
            return answer(changed, Err(problem));
        }
        let before = self.settings();
        let settings = change.or(before.clone());
        if (&settings.policy, &settings.tenants) == (&before.policy, &before.tenants) {
            self.put_in_force(&settings);
            return answer(changed, Ok(self.status()));
        }
        let name = settings.policy.clone().unwrap_or_default();
        let tenants = settings.tenants.clone().unwrap_or_default();
        match Runnable::named(&name, &tenants) {
            Err(error) => answer(changed, Err(not_possible(&error))),
            Ok(_) if !self.shared.durable.load(Ordering::Relaxed) => {
                answer(changed, Err(not_durable()))
            }
            Ok(policy) => {
                self.coordinator.announce_start();
                self.execute();
                self.state.switch = Some(Switch { policy, settings, changed, held: Vec::new() });
            }
        }
    }

    /// Holds back what must not come before another policy begins, if one is about to. Returns the
    /// rest.
    pub(super) fn hold(&mut self, command: Command) -> Option<Command> {
        match &mut self.state.switch {
            Some(switch) => switch.hold(command),
            None => Some(command),
        }
    }

    /// Has another policy begin, if one is about to and nothing waits for the journal any more.
    pub(super) fn switch(&mut self) {
        if self.coordinator.pending() > 0 {
            return;
        }
        let Some(Switch { policy, settings, changed, held }) = self.state.switch.take() else {
            return;
        };
        let begun = match self.shared.durable.load(Ordering::Relaxed) {
            true => self.begin(policy, &settings),
            false => Err(not_durable()),
        };
        // Their connections end, and they join again.
        self.leave_all();
        let _ = changed.send(begun.map(|()| self.status()));
        held.into_iter().for_each(|command| self.command(command));
    }

    fn begin(&mut self, policy: Runnable, settings: &Settings) -> Result<(), Problem> {
        let about = &self.shared.about;
        let fabric = Fabric::big_switch(about.ports, about.port_rate);
        let fabric = fabric.map_err(|error| not_possible(&error.into()))?;
        let config = config_of(settings, self.coordinator.config());
        let begun = policy.start(fabric, config, |fabric, policy, config| {
            self.coordinator.start_again(fabric, policy, config)
        });
        self.coordinator = begun.map_err(|error| not_possible(&error))?;
        self.put_in_force(settings);
        let policy = settings.policy.as_deref();
        tracing::info!(policy, epoch = self.coordinator.epoch(), "another policy has begun");
        Ok(())
    }

    fn put_in_force(&mut self, settings: &Settings) {
        self.coordinator.set_config(config_of(settings, self.coordinator.config()));
        if let Some(policy) = &settings.policy {
            lock(&self.shared.policy).clone_from(policy);
        }
        if let Some(tenants) = &settings.tenants {
            lock(&self.shared.tenants).clone_from(tenants);
        }
        if let Some(read_only) = settings.read_only {
            self.shared.read_only.store(read_only, Ordering::Relaxed);
        }
        if let Some(max) = settings.max_flows {
            self.shared.max_flows.store(max, Ordering::Relaxed);
        }
        if let Some(max) = settings.max_requests {
            self.shared.rate.set(max);
        }
    }
}

/// The most coflows that an answer lists.
const LISTED: usize = 100;

/// The settings of the state, where they name some.
fn config_of(settings: &Settings, config: Config) -> Config {
    Config {
        max_coflows: settings.max_coflows.unwrap_or(config.max_coflows),
        max_flows: settings.max_flows.unwrap_or(config.max_flows),
        max_expired: settings.max_expired.unwrap_or(config.max_expired),
        max_gone: settings.max_gone.unwrap_or(config.max_gone),
        lease_s: settings.lease_s.unwrap_or(config.lease_s),
        forget_after_s: settings.forget_after_s.unwrap_or(config.forget_after_s),
        idle_after_s: settings.idle_after_s.unwrap_or(config.idle_after_s),
        ..config
    }
}

fn check(settings: &Settings) -> Result<(), Problem> {
    let (least, most) = (1, *COUNTS.end());
    check_range("max_coflows", settings.max_coflows, &(least..=most))?;
    check_range("max_flows", settings.max_flows, &(least..=most))?;
    check_range("max_expired", settings.max_expired, &COUNTS)?;
    check_range("max_gone", settings.max_gone, &COUNTS)?;
    check_range("max_requests", settings.max_requests, &(1..=u32::MAX))?;
    check_range("lease_s", settings.lease_s, &LEASE_S)?;
    check_range("forget_after_s", settings.forget_after_s, &FORGET_AFTER_S)?;
    check_range("idle_after_s", settings.idle_after_s, &IDLE_AFTER_S)
}

fn not_possible(error: &ServeError) -> Problem {
    Problem::invalid(format!("policy: {error}"))
}

fn not_durable() -> Problem {
    Problem::new(503, "not durable", "the journal cannot be written, so no policy can begin")
}
