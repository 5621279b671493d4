//! What agents are sent.

use covey_proto::{APPEARANCES, FlowAnnouncement, IDS, START_SMALL, ToAgent, USES, Welcome};

use super::coordinator::CoordinatorState;
use super::effects::SessionId;
use super::flow_tokens::MAX_ANSWERED;
use super::openings;

impl CoordinatorState {
    /// What an agent has to be sent now. To be asked for when its connection can take it.
    pub fn take_messages(&mut self, session: SessionId, messages: &mut Vec<ToAgent>) {
        let Some(port) = self.agents.port_of(session) else { return };
        let epoch = self.epoch();
        let has_keys = self.agents.get(port).letters.keys;
        let keys = has_keys.then(|| self.flow_keys(port)).flatten();
        let agent = self.agents.get_mut(port);
        let spoken = agent.connection.spoken;
        let is_welcomed = std::mem::take(&mut agent.connection.welcome);
        if is_welcomed {
            let reports = self.config.reports_always || self.driver.needs_progress();
            messages.push(ToAgent::Welcome(Welcome {
                version: spoken,
                epoch,
                report_every_s: if reports { self.config.report_every_s } else { 0.0 },
                heartbeat_s: self.config.heartbeat_s,
                codec: self.config.codec,
                idle_after_s: match spoken >= USES {
                    true => self.config.idle_after_s,
                    false => f64::INFINITY,
                },
                groups: spoken >= APPEARANCES && !self.driver.sees_coflows(),
            }));
        }
        if std::mem::take(&mut agent.letters.keys) {
            messages.extend(keys.map(ToAgent::Keys));
        }
        if is_welcomed && spoken >= START_SMALL {
            messages.push(ToAgent::StartSmall(self.driver.start_small()));
        }
        // Before tokens: an application that has one knows whether its flow is opened wrongly.
        let found = std::mem::take(&mut agent.letters.openings);
        let found = found.chunks(openings::MAX_ANSWERED);
        messages.extend(found.map(|some| ToAgent::Openings(some.to_vec())));
        let answers = std::mem::take(&mut agent.letters.answers);
        messages.extend(answers.chunks(MAX_ANSWERED).map(|some| ToAgent::Tokens(some.to_vec())));
        let renamed = std::mem::take(&mut agent.letters.renamed);
        let renamed: Vec<FlowAnnouncement> =
            renamed.into_iter().flat_map(|id| self.coflows.announcements(id)).collect();
        if !renamed.is_empty() && spoken >= IDS {
            messages.push(ToAgent::Flows(renamed));
        }
        let mut acknowledged = std::mem::take(&mut agent.letters.acknowledged);
        acknowledged.extend(agent.take_cancelled());
        if !acknowledged.is_empty() {
            messages.push(ToAgent::Acknowledged(acknowledged));
        }
        let thresholds = agent.letters.take_thresholds();
        if !thresholds.is_empty() {
            messages.push(ToAgent::Thresholds(thresholds));
        }
        let over = std::mem::take(&mut agent.letters.over);
        if !over.is_empty() && spoken >= USES {
            messages.push(ToAgent::Over(over));
        }
        let released = std::mem::take(&mut agent.letters.released);
        if !released.is_empty() && spoken >= APPEARANCES {
            messages.push(ToAgent::Released(released));
        }
        let taken = std::mem::take(&mut agent.letters.taken);
        if !taken.is_empty() && spoken >= APPEARANCES {
            messages.push(ToAgent::Taken(taken));
        }
        if std::mem::take(&mut agent.connection.alive) && messages.is_empty() {
            messages.push(ToAgent::Alive);
        }
        let turns = self.take_turns(port);
        if !turns.is_empty() {
            messages.push(ToAgent::Turns(turns));
        }
        if let Some(mut schedule) = self.agents.next_schedule(port, self.now) {
            let counts = &mut self.effects.counts;
            counts.schedules += 1;
            counts.entries += (schedule.set.len() + schedule.removed.len()) as u64;
            if spoken >= IDS {
                let announcements = |id| self.coflows.announcements(id);
                let new = self.agents.name_by_id(port, &mut schedule, announcements);
                if !new.is_empty() {
                    messages.push(ToAgent::Flows(new));
                }
            }
            messages.push(ToAgent::Schedule(schedule));
        }
        if !messages.is_empty() {
            self.agents.get_mut(port).connection.told = self.now;
        }
    }
}
