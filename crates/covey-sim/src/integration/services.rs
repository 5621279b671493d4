//! Services of limits, and clients that end when a service has reached their targets.
//!
//! A *limit* is a link that is shared, or is private to one client. Its *level* is the rate at
//! which it serves each of its clients, and its *service* is the integral of its level. A client is
//! a flow, or several flows that share one path; it is attached to one limit, with a *target*. A
//! client that needs `amount` bytes more when the service is `v` has the target `v + amount`,
//! whatever the level does until then. So a change of a level costs the same for one client as for
//! thousands, and of all clients at a limit the one with the lowest target is the next to end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::{OptionalIndex, Ordered, Time, rounded_bytes};

use super::next_ends::NextEnds;

/// Where a client is attached, if it is.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    limit: OptionalIndex,
    target: f64,
}

/// The end of a client at a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    target: Ordered,
    client: u32,
}

/// The service of a limit up to some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub limit: usize,
    /// Bytes.
    pub served: f64,
}

/// The service of a limit.
#[derive(Debug)]
struct Service {
    /// Bytes up to `since`.
    bytes: f64,
    since: Time,
    /// Bytes per second from `since` on.
    level: f64,
    /// Clients by target. An entry counts if its client is attached here with this target.
    ends: BinaryHeap<Reverse<End>>,
    /// The number of clients that are attached.
    clients: u32,
    /// The number of entries up to which those that do not count stay.
    many: u32,
    /// The first target, if it is known; infinite if there is none. Most often only the level has
    /// changed.
    first: Option<f64>,
    /// Whether the next end has to be worked out again.
    is_pending: bool,
}

impl Service {
    fn unused(now: Time) -> Service {
        Service {
            bytes: 0.0,
            since: now,
            level: 0.0,
            ends: BinaryHeap::new(),
            clients: 0,
            many: 0,
            first: None,
            is_pending: false,
        }
    }

    fn at(&self, now: Time) -> f64 {
        self.bytes + self.level * (now - self.since)
    }

    fn settle(&mut self, now: Time) {
        self.bytes = self.at(now);
        self.since = now;
    }

    /// Adds an entry. When the list is full, entries that do not count are removed, and then the
    /// list grows by a third.
    fn push(&mut self, end: End, counts: impl Fn(End) -> bool) {
        if self.ends.len() >= self.many as usize {
            self.ends.retain(|Reverse(end)| counts(*end));
            let many = 4 + self.ends.len() * 4 / 3;
            self.ends.reserve_exact(many - self.ends.len());
            self.many = many as u32;
        }
        self.ends.push(Reverse(end));
    }
}

/// All limits and clients, each by number.
#[derive(Debug, Default)]
pub(super) struct Services {
    /// From `limits` on, memory of earlier uses.
    all: Vec<Service>,
    limits: usize,
    /// By client.
    places: Vec<Place>,
    next: NextEnds,
    pending: Vec<u32>,
    /// Working memory: limits that are due.
    due: Vec<u32>,
}

impl Services {
    /// No limits, and no clients.
    pub fn clear(&mut self) {
        self.limits = 0;
        self.places.clear();
        self.pending.clear();
        self.next.clear(0);
    }

    /// Adds limits of level zero until there are `limits`.
    pub fn grow(&mut self, limits: usize, now: Time) {
        if self.all.len() < limits {
            self.all.resize_with(limits, || Service::unused(now));
        }
        for service in self.all.iter_mut().take(limits).skip(self.limits) {
            let mut ends = std::mem::take(&mut service.ends);
            ends.clear();
            *service = Service { ends, ..Service::unused(now) };
        }
        self.limits = self.limits.max(limits);
        self.next.grow(limits);
    }

    /// The service of a limit up to `now`, in bytes.
    pub fn served(&self, limit: usize, now: Time) -> f64 {
        self.all[limit].at(now)
    }

    /// The level of a limit, in bytes per second.
    pub fn level(&self, limit: usize) -> f64 {
        self.all[limit].level
    }

    /// The highest level of a limit that has clients, in bytes per second.
    pub fn fastest(&self) -> f64 {
        let used = self.all[..self.limits].iter().filter(|service| service.clients > 0);
        used.fold(0.0, |fastest, service| service.level.max(fastest))
    }

    /// Changes the level of a limit from `now` on.
    pub fn set_level(&mut self, limit: usize, level: f64, now: Time) {
        let service = &mut self.all[limit];
        service.settle(now);
        service.level = level;
        self.look_again(limit);
    }

    /// Rounds the service of a limit up to `now`, so that errors do not add up where flows take
    /// turns.
    pub fn round(&mut self, limit: usize, now: Time) {
        let service = &mut self.all[limit];
        service.settle(now);
        service.bytes = rounded_bytes(service.bytes, service.level);
    }

    /// The limit to which a client is attached.
    pub fn limit_of(&self, client: usize) -> Option<usize> {
        let limit = self.places.get(client)?.limit.get()?;
        Some(limit as usize)
    }

    /// Bytes of its limit's service that a client needs until its end; `None` if it is not
    /// attached.
    pub fn missing(&self, client: usize, now: Time) -> Option<f64> {
        let at = self.reading(client, now)?;
        Some(self.places[client].target - at.served)
    }

    /// The service of the limit to which a client is attached, up to `now`.
    pub fn reading(&self, client: usize, now: Time) -> Option<Reading> {
        let limit = self.limit_of(client)?;
        Some(Reading { limit, served: self.served(limit, now) })
    }

    /// Attaches a client that needs `amount` bytes to a limit, instead of where it was. Returns its
    /// target.
    pub fn attach(&mut self, client: usize, limit: usize, amount: f64, now: Time) -> f64 {
        self.detach(client);
        let service = &mut self.all[limit];
        if service.clients == 0 {
            // The numbers stay small, and so exact.
            (service.bytes, service.since) = (0.0, now);
        }
        service.clients += 1;
        let target = service.at(now) + amount;
        if self.places.len() <= client {
            self.places.resize(client + 1, Place::default());
        }
        self.places[client] = Place { limit: OptionalIndex::some(limit as u32), target };
        self.enter(client, limit, target);
        target
    }

    /// Changes the target of a client that is attached.
    pub fn set_target(&mut self, client: usize, target: f64) {
        let Some(limit) = self.limit_of(client) else { return };
        if std::mem::replace(&mut self.places[client].target, target) != target {
            self.all[limit].first = None;
            self.enter(client, limit, target);
        }
    }

    /// Detaches a client.
    pub fn detach(&mut self, client: usize) {
        let Some(limit) = self.limit_of(client) else { return };
        let target = std::mem::take(&mut self.places[client]).target;
        let service = &mut self.all[limit];
        service.clients -= 1;
        if service.first.is_none_or(|first| target <= first) {
            service.first = None;
            self.look_again(limit);
        }
    }

    fn enter(&mut self, client: usize, limit: usize, target: f64) {
        let (service, places) = (&mut self.all[limit], &self.places);
        let end = End { target: Ordered(target), client: client as u32 };
        service.push(end, |end| counts(places, limit, end));
        if service.first.is_none_or(|first| target < first) {
            service.first = service.first.map(|_| target);
            self.look_again(limit);
        }
    }

    fn look_again(&mut self, limit: usize) {
        if !std::mem::replace(&mut self.all[limit].is_pending, true) {
            self.pending.push(limit as u32);
        }
    }

    /// Works out the next ends that may have changed.
    pub fn update(&mut self) {
        while let Some(number) = self.pending.pop() {
            let (limit, places) = (number as usize, &self.places);
            let service = &mut self.all[limit];
            service.is_pending = false;
            let first = service.first.unwrap_or_else(|| {
                let ends = &mut service.ends;
                while ends.peek().is_some_and(|Reverse(end)| !counts(places, limit, *end)) {
                    ends.pop();
                }
                ends.peek().map_or(f64::INFINITY, |Reverse(end)| end.target.0)
            });
            service.first = Some(first);
            let next = if first < f64::INFINITY && service.level > 0.0 {
                service.since + ((first - service.bytes) / service.level).max(0.0)
            } else {
                Time::NEVER
            };
            self.next.set(limit, next);
        }
        self.next.update();
    }

    /// The time of the next end of a client if levels stay, as of the last [`Services::update`].
    pub fn next(&self) -> Time {
        self.next.first()
    }

    /// Calls `ended` with each client that ends at `now`, its limit, and the service that counts as
    /// reached there. The client is still attached, and has to be detached or to get another
    /// target.
    pub fn take_ends(&mut self, now: Time, mut ended: impl FnMut(&mut Services, usize, f64)) {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        self.next.find_due(now, &mut due);
        for &number in &due {
            let limit = number as usize;
            let service = &mut self.all[limit];
            service.settle(now);
            // Whatever rounding says, the first client ends: the time of its end has come.
            let first = service.first.unwrap_or(f64::NEG_INFINITY);
            let reached = (service.bytes + service.level * now.slack_s()).max(first);
            while let Some(&Reverse(end)) = self.all[limit].ends.peek() {
                let counts = counts(&self.places, limit, end);
                if counts && end.target.0 > reached {
                    break;
                }
                self.all[limit].ends.pop();
                if counts {
                    ended(self, end.client as usize, reached);
                }
            }
            self.all[limit].first = None;
            self.look_again(limit);
        }
        self.due = due;
        self.update();
    }
}

/// Whether the client of an end is attached to a limit with this target.
fn counts(places: &[Place], limit: usize, end: End) -> bool {
    let place = places.get(end.client as usize);
    place.is_some_and(|place| {
        place.limit.get() == Some(limit as u32) && place.target == end.target.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: usize = 40;
    const LIMITS: usize = 5;

    /// What a service is by definition: each client has an amount that falls at the level of its
    /// limit.
    #[derive(Default)]
    struct Plain {
        levels: [f64; LIMITS],
        /// By client, its limit and what it needs.
        clients: Vec<Option<(usize, f64)>>,
    }

    impl Plain {
        fn advance(&mut self, dt: f64) {
            for (limit, amount) in self.clients.iter_mut().flatten() {
                *amount -= self.levels[*limit] * dt;
            }
        }

        fn next(&self, now: Time) -> Time {
            let next = |(limit, amount): &(usize, f64)| now + amount.max(0.0) / self.levels[*limit];
            let ends = self.clients.iter().flatten().filter(|it| self.levels[it.0] > 0.0);
            ends.map(next).min().unwrap_or(Time::NEVER)
        }
    }

    #[test]
    fn clients_end_as_amounts_that_fall_at_the_level_of_their_limit() {
        let mut random = 7_u64;
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        let (mut services, mut plain) = (Services::default(), Plain::default());
        plain.clients.resize(CLIENTS, None);
        let mut now = Time::ZERO;
        services.grow(LIMITS, now);
        let mut ends = 0;
        for _ in 0..5000 {
            let (client, limit) = (draw(CLIENTS), draw(LIMITS));
            match draw(4) {
                0 => {
                    let level = draw(4) as f64;
                    services.set_level(limit, level, now);
                    plain.levels[limit] = level;
                }
                1 => {
                    services.detach(client);
                    plain.clients[client] = None;
                }
                2 => {
                    let missing = services.missing(client, now);
                    assert_eq!(missing.is_some(), plain.clients[client].is_some());
                    let amount = missing.unwrap_or(1.0 + draw(9) as f64);
                    services.attach(client, limit, amount, now);
                    plain.clients[client] = Some((limit, amount));
                }
                _ => {
                    let amount = 1.0 + draw(9) as f64;
                    services.attach(client, limit, amount, now);
                    plain.clients[client] = Some((limit, amount));
                }
            }
            services.update();
            let next = plain.next(now);
            if next.comes() {
                assert!((services.next() - next).abs() < 1e-9);
            } else {
                assert!(!services.next().comes());
            }
            let step = now + draw(3) as f64 / 4.0;
            let then = step.min(services.next());
            plain.advance(then - now);
            now = then;
            let mut ended = Vec::new();
            services.take_ends(now, |services, client, _| {
                services.detach(client);
                ended.push(client);
            });
            for client in ended {
                let (_, amount) = plain.clients[client].take().expect("the client is attached");
                assert!(amount.abs() < 1e-9);
                ends += 1;
            }
            for (client, it) in plain.clients.iter().enumerate() {
                assert_eq!(services.limit_of(client), it.map(|(limit, _)| limit));
                let missing = services.missing(client, now);
                assert!(it.is_none_or(|it| (missing.unwrap_or(0.0) - it.1).abs() < 1e-9));
            }
        }
        assert!(ends > 500, "{ends}");
    }

    #[test]
    fn a_client_gets_another_target_and_the_service_goes_on() {
        let mut services = Services::default();
        let at = Time::from_secs;
        services.grow(1, at(0.0));
        services.set_level(0, 2.0, at(0.0));
        let target = services.attach(0, 0, 4.0, at(0.0));
        services.update();
        assert_eq!(services.next(), at(2.0));
        let mut ends = Vec::new();
        services.take_ends(at(2.0), |services, client, reached| {
            ends.push((client, reached.round()));
            services.set_target(client, target + 6.0);
        });
        assert_eq!(ends, [(0, 4.0)]);
        assert_eq!(services.next(), at(5.0));
        services.set_target(0, target + 1.0);
        services.update();
        assert_eq!(services.next(), at(2.5));
    }
}
