//! Another policy that is about to begin.

use covey_api::{Problem, Settings};

use super::command::{Changed, Command, WAITING};
use super::runnable::Runnable;

/// Another policy is about to begin.
pub(super) struct Switch {
    pub policy: Runnable,
    /// All settings that count from then on.
    pub settings: Settings,
    pub changed: Changed,
    /// What has been asked meanwhile: at most [`WAITING`].
    pub held: Vec<Command>,
}

impl Switch {
    /// Holds back what must not come before the policy begins. Returns the rest.
    pub fn hold(&mut self, command: Command) -> Option<Command> {
        match command {
            Command::Request(..) | Command::Change(..) if self.held.len() < WAITING => {
                self.held.push(command);
                None
            }
            // The clients may have left.
            Command::Request(_, _, answer) => {
                let _ = answer.send(Err(too_many()));
                None
            }
            Command::Change(_, changed) => {
                let _ = changed.send(Err(too_many()));
                None
            }
            // When the policy has begun, or cannot, all agents join again, and repeat what nobody
            // has acknowledged.
            Command::Heard(..) => None,
            rest => Some(rest),
        }
    }
}

fn too_many() -> Problem {
    let detail = format!("another policy is about to begin, and {WAITING} requests wait for that");
    Problem::new(503, "busy", detail)
}

#[cfg(test)]
mod tests {
    use covey_proto::FromAgent;
    use tokio::sync::oneshot;

    use super::*;
    use crate::request::{Client, Request};
    use crate::server::config::Weights;

    #[test]
    fn so_many_requests_wait_for_another_policy_and_no_message_of_an_agent_does() {
        let policy = Runnable::named("fifo", &Weights::default()).expect("a policy");
        let (changed, _) = oneshot::channel();
        let settings = Settings::default();
        let mut switch = Switch { policy, settings, changed, held: Vec::new() };
        let ask = |switch: &mut Switch| {
            let (sender, answer) = oneshot::channel();
            let request = Command::Request(Client::own(), Request::Get { id: 0 }, sender);
            assert!(switch.hold(request).is_none());
            answer
        };
        let mut waiting: Vec<_> = (0..WAITING).map(|_| ask(&mut switch)).collect();
        assert!(waiting.iter_mut().all(|answer| answer.try_recv().is_err()), "they wait");
        let refused = ask(&mut switch).try_recv().expect("an answer").expect_err("a refusal");
        assert_eq!((refused.status, &*refused.title), (503, "busy"));
        let (sender, mut answer) = oneshot::channel();
        assert!(switch.hold(Command::Change(Box::default(), sender)).is_none());
        assert_eq!(answer.try_recv().expect("an answer").expect_err("a refusal").status, 503);
        for _ in 0..2 * WAITING {
            assert!(switch.hold(Command::Heard(1, FromAgent::Alive)).is_none());
        }
        assert_eq!(switch.held.len(), WAITING);
        // What concerns connections and the journal does not wait.
        assert!(switch.hold(Command::Closed(1)).is_some());
        assert!(switch.hold(Command::Writable(1)).is_some());
    }
}
