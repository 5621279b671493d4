//! Logs without names.

use std::collections::BTreeSet;

use crate::log::Log;

/// Takes the names of hosts, applications and files out of logs, so that what they say can be
/// shared. Hosts are `host-1` and so on in order of their names, in all logs; logs and applications
/// are numbered in order.
pub fn anonymise(logs: &mut [Log]) {
    let hosts: BTreeSet<String> =
        logs.iter().flat_map(|log| &log.application.hosts).cloned().collect();
    let hosts: Vec<String> = hosts.into_iter().collect();
    let count = logs.len();
    for (place, log) in logs.iter_mut().enumerate() {
        let file = numbered("log", place, count);
        let application = &mut log.application;
        log.reason = without(&log.reason, &[(&log.file, &file), (&application.id, "app")]);
        log.file = file;
        for host in &mut application.hosts {
            let place = hosts.partition_point(|it| it < host);
            *host = numbered("host", place, hosts.len());
        }
        if !application.id.is_empty() {
            application.id = numbered("app", place, count);
        }
        application.name = numbered("application", place, count);
    }
}

/// A text with other names.
fn without(text: &str, names: &[(&str, &str)]) -> String {
    let known = names.iter().filter(|(name, _)| !name.is_empty());
    known.fold(text.to_owned(), |text, (name, other)| text.replace(name, other))
}

/// Number `place` of `count`, from 1, behind a word. All have the same length, so that their order
/// is that of the places.
fn numbered(word: &str, place: usize, count: usize) -> String {
    let width = count.to_string().len();
    format!("{word}-{:0width$}", place + 1)
}
