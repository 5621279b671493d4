//! A coordinator and agents that hear and say everything at once.

use covey_agent::Agent;
use covey_coordinator::{CoordinatorState, Output};
use covey_core::Time;
use covey_proto::{FromAgent, Refusal, ToAgent};

/// The session of the agent of a port is one more than the port.
pub struct Wired {
    pub core: CoordinatorState,
    pub agents: Vec<Agent>,
    pub now_s: f64,
    /// Reports of bytes that agents have made.
    pub reports: usize,
}

impl Wired {
    /// No agent has joined.
    pub fn new(core: CoordinatorState, agents: Vec<Agent>) -> Wired {
        Wired { core, agents, now_s: 0.0, reports: 0 }
    }

    /// The agent of a port joins, for the first time or again.
    pub fn join(&mut self, port: usize) {
        self.core.closed(port as u64 + 1);
        let hello = self.agents[port].hello();
        self.say(port, vec![hello]);
        self.settle();
    }

    pub fn now(&self) -> Time {
        Time::from_secs(self.now_s)
    }

    pub fn say(&mut self, port: usize, messages: Vec<FromAgent>) {
        for message in messages {
            self.reports += usize::from(matches!(message, FromAgent::Sent(_)));
            self.core.heard(port as u64 + 1, message, self.now());
        }
    }

    /// Until nobody has anything to say.
    pub fn settle(&mut self) {
        loop {
            self.core.decide(self.now()).expect("a plan");
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Journal(lsn, _) => self.core.durable(lsn, self.now()),
                    Output::Ready(session) => self.deliver(session),
                    // Its host was taken for lost.
                    Output::Close(session, Refusal::Order) => {
                        self.agents[session as usize - 1].disconnected();
                    }
                    Output::Close(session, refusal) => panic!("{session}: {refusal:?}"),
                    Output::Answer(..) | Output::Event(_) => {}
                }
            }
        }
    }

    fn deliver(&mut self, session: u64) {
        let mut messages: Vec<ToAgent> = Vec::new();
        self.core.take_messages(session, &mut messages);
        let port = session as usize - 1;
        let mut out = Vec::new();
        for message in messages {
            self.agents[port].heard(message, &mut out).expect("nothing is refused");
        }
        self.say(port, out);
    }
}
