//! The answer in a sentence or two.

use covey_report::{Replay, WhatIf, percent, rate};

use crate::codec::LOGGED;

/// Below this share a gain is none.
const NOTHING: f64 = 0.01;
/// Below this share a link is idle most of the time.
const IDLE: f64 = 0.1;

/// The answer of a what-if that has all else.
pub(crate) fn sentence(whatif: &WhatIf) -> String {
    let Some(first) = whatif.replays.first() else {
        let any = whatif.logs.iter().any(|log| log.status == "success");
        let text =
            if any { "Nothing was replayed" } else { "No log has a shuffle over the network" };
        return format!("{text}: there is no answer.");
    };
    let is_own = |row: &&Replay| row.link_rate_bps == first.link_rate_bps && row.codec == LOGGED;
    let own = best(whatif.replays.iter().filter(is_own).skip(1));
    let others = best(whatif.replays.iter().filter(|row| !is_own(row))).filter(gains);
    let mut answer = match own {
        Some(row) if gains(&row) => format!("Under {} jobs would end {}", row.policy, gain(row)),
        Some(_) => "Scheduling would gain about nothing".to_owned(),
        None => "There is no other policy to compare with".to_owned(),
    };
    answer += &format!("; the busiest link is busy {} % of the time", percent(first.busy));
    match others {
        Some(row) if !own.as_ref().is_some_and(gains) => {
            let codec =
                if row.codec == LOGGED { String::new() } else { format!(" and {}", row.codec) };
            let (rate, policy) = (rate(row.link_rate_bps), &row.policy);
            answer += &format!(
                ". With links of {rate}{codec}, under {policy}, jobs would end {}",
                gain(row)
            );
        }
        None if first.busy[1] < IDLE && !own.as_ref().is_some_and(gains) => {
            answer += ": look elsewhere"
        }
        _ => {}
    }
    answer.push('.');
    if let [log] = whatif.logs.as_slice()
        && let Some(ceiling) = log.ceiling
    {
        let share = percent(ceiling);
        answer += &format!(
            " In the log tasks waited for fetches for {share} % of their time: a better network than its own saves no more."
        );
    }
    answer
}

/// Whether a row saves enough to speak of.
fn gains(row: &&Replay) -> bool {
    row.sooner[1] >= NOTHING
}

/// The row that gains most, in the middle of its range; of equal ones the first.
fn best<'a>(rows: impl Iterator<Item = &'a Replay>) -> Option<&'a Replay> {
    let middle = |row: &Replay| row.sooner[0] + row.sooner[1];
    rows.reduce(|best, row| if middle(row) > middle(best) { row } else { best })
}

/// How much sooner jobs end, in whole percent, and the one that gains most.
fn gain(row: &Replay) -> String {
    let [least, most] = row.sooner.map(|share| (100.0 * share).round());
    let mut text = if least < 0.0 {
        format!("between {} % later and {most} % sooner", -least)
    } else if least < most {
        format!("{} to {most} % sooner", least.abs())
    } else {
        format!("{most} % sooner")
    };
    if row.best_job_sooner >= row.sooner[1] + NOTHING {
        text += &format!(", single ones up to {:.0} %", 100.0 * row.best_job_sooner);
    }
    text
}

#[cfg(test)]
mod tests {
    use covey_report::LogSums;

    use super::*;

    fn row(link_rate_bps: f64, policy: &str, sooner: [f64; 2], best_job_sooner: f64) -> Replay {
        let (codec, policy) = (LOGGED.to_owned(), policy.to_owned());
        Replay {
            link_rate_bps,
            codec,
            policy,
            sooner,
            best_job_sooner,
            busy: [0.03; 2],
            ..Replay::default()
        }
    }

    fn answer(replays: Vec<Replay>) -> String {
        let log = LogSums { status: "success".to_owned(), ..LogSums::default() };
        sentence(&WhatIf { logs: vec![log], replays, ..WhatIf::default() })
    }

    #[test]
    fn a_gain_is_said_and_nothing_is_said_to_be_nothing() {
        let fair = row(1e10, "fair", [0.0; 2], 0.0);
        let nothing = row(1e10, "sebf", [-0.002, 0.004], 0.005);
        assert_eq!(
            answer(vec![fair.clone(), nothing.clone()]),
            "Scheduling would gain about nothing; the busiest link is busy 3.0 % of the time: look elsewhere."
        );
        assert_eq!(
            answer(vec![fair.clone(), row(1e10, "sebf", [0.0, 0.02], 0.09)]),
            "Under sebf jobs would end 0 to 2 % sooner, single ones up to 9 %; the busiest link is busy 3.0 % of the time."
        );
        let slow = [row(1e9, "fair", [0.0; 2], 0.0), row(1e9, "covey", [-0.03, 0.07], 0.07)];
        assert_eq!(
            answer([vec![fair, nothing], slow.to_vec()].concat()),
            "Scheduling would gain about nothing; the busiest link is busy 3.0 % of the time. With links of 1 Gbps, \
             under covey, jobs would end between 3 % later and 7 % sooner."
        );
        assert_eq!(answer(Vec::new()), "Nothing was replayed: there is no answer.");
    }
}
