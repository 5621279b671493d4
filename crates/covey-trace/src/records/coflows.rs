//! Flow records as a workload: the coflows that labels name, or that are found.

use std::collections::{HashMap, HashSet};

use covey_identify::{Algorithm, Metric, confidence, identify};

use super::grouped::Grouped;
use super::record::Records;
use crate::error::TraceError;
use crate::workload::Workload;

/// The workload of records that were read from the files called `name`. A label is a coflow;
/// without any, coflows are found as `covey identify` finds them. `notes` gets each line about what
/// was repaired, guessed or left out.
///
/// # Errors
/// Those of [`Grouped::workload`].
pub(crate) fn coflows_of(
    records: &Records,
    name: &str,
    notes: &mut dyn FnMut(&str),
) -> Result<Workload, TraceError> {
    let mut note = |text: &str| notes(&format!("{name}: {text}"));
    for text in records.repairs.notes().into_iter().chain(records.repairs.together.note()) {
        note(&text);
    }
    let labelled = records.labelled();
    let grouped = if labelled > 0 {
        if labelled < records.flows.len() {
            let rest = records.flows.len() - labelled;
            note(&format!("flows without a coflow: {rest}; each is a coflow of its own"));
        }
        by_label(records)
    } else {
        let groups = identify(&records.flows, &Metric::default(), Algorithm::DEFAULT);
        let grouped = Grouped::new(records, groups);
        note(&format!(
            "no flow names its coflow: {} coflows found in {} flows, confidence {:.3} (docs/identify.md); \
             --columns coflow=COLUMN says which column names them",
            grouped.groups.len(),
            records.flows.len(),
            confidence(&records.flows)
        ));
        grouped
    };
    let (workload, left) = grouped.workload()?;
    if left.flows > 0 {
        note(&format!(
            "left out: flows without bytes, {}; coflows that have no others, {}",
            left.flows, left.groups
        ));
    }
    Ok(workload)
}

/// A group for each label and for each flow without one, in order of first starts.
fn by_label(records: &Records) -> Grouped<'_> {
    let mut group_of_label: HashMap<u32, u32> = HashMap::new();
    let labels: HashSet<&str> = records.labels.iter().map(String::as_str).collect();
    let mut names: Vec<String> = Vec::new();
    let mut alone = 0;
    let mut group = |label: Option<u32>| {
        let next = names.len() as u32;
        let group = match label {
            Some(label) => *group_of_label.entry(label).or_insert(next),
            None => next,
        };
        if group == next {
            names.push(match label {
                Some(label) => records.labels[label as usize].clone(),
                None => loop {
                    alone += 1;
                    let name = format!("flow {alone}");
                    if !labels.contains(name.as_str()) {
                        break name;
                    }
                },
            });
        }
        group
    };
    let groups = records.hidden.iter().map(|hidden| group(hidden.label)).collect();
    Grouped::new(records, groups).named(names)
}
