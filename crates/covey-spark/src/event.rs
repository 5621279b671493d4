//! The events of a log that count here, with the fields that count. Everything else in a line is
//! passed over.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

/// An event that counts.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    LogStart(LogStart<'a>),
    Environment(Environment<'a>),
    ApplicationStart(ApplicationStart<'a>),
    ApplicationEnd(ApplicationEnd),
    JobStart(JobStart),
    JobEnd(JobEnd),
    StageSubmitted(StageEvent<'a>),
    StageCompleted(StageEvent<'a>),
    TaskEnd(TaskEnd<'a>),
    /// Of a known form, but without anything that counts.
    Other,
}

impl<'a> Event<'a> {
    /// Reads a line. Only lines of events that count are parsed.
    ///
    /// # Errors
    /// The line is no event, or one that lacks what counts.
    pub fn parse(line: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        let name: Cow<'a, str> = match name(line) {
            Some(name) => Cow::Borrowed(name),
            // Spark writes the name first and without spaces; other writers may not.
            None => serde_json::from_slice::<Named<'a>>(line)?.event,
        };
        Ok(match name.as_ref() {
            "SparkListenerTaskEnd" => Event::TaskEnd(parse(line)?),
            "SparkListenerStageSubmitted" => Event::StageSubmitted(parse(line)?),
            "SparkListenerStageCompleted" => Event::StageCompleted(parse(line)?),
            "SparkListenerJobStart" => Event::JobStart(parse(line)?),
            "SparkListenerJobEnd" => Event::JobEnd(parse(line)?),
            "SparkListenerLogStart" => Event::LogStart(parse(line)?),
            "SparkListenerEnvironmentUpdate" => Event::Environment(parse(line)?),
            "SparkListenerApplicationStart" => Event::ApplicationStart(parse(line)?),
            "SparkListenerApplicationEnd" => Event::ApplicationEnd(parse(line)?),
            _ => Event::Other,
        })
    }
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

/// The name of an event in the form that Spark writes, in a line that ends as an object does.
fn name(line: &[u8]) -> Option<&str> {
    let rest = line.trim_ascii_end().strip_prefix(b"{\"Event\":\"")?;
    rest.strip_suffix(b"}")?;
    let end = rest.iter().position(|&byte| byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().filter(|name| !name.contains('\\'))
}

#[derive(Debug, Deserialize)]
struct Named<'a> {
    #[serde(borrow, rename = "Event")]
    event: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LogStart<'a> {
    #[serde(borrow, rename = "Spark Version")]
    pub version: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Environment<'a> {
    /// Properties, of any type.
    #[serde(borrow, default, rename = "Spark Properties")]
    pub properties: BTreeMap<Cow<'a, str>, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApplicationStart<'a> {
    #[serde(borrow, default, rename = "App Name")]
    pub name: Cow<'a, str>,
    #[serde(borrow, default, rename = "App ID")]
    pub id: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "bounded", rename = "Timestamp")]
    pub time_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApplicationEnd {
    #[serde(deserialize_with = "bounded", rename = "Timestamp")]
    pub time_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobStart {
    #[serde(rename = "Job ID")]
    pub id: u32,
    #[serde(deserialize_with = "bounded", default, rename = "Submission Time")]
    pub time_ms: u64,
    #[serde(default, rename = "Stage Infos")]
    pub stages: Vec<StageOutline>,
    #[serde(default, rename = "Stage IDs")]
    pub stage_ids: Vec<u32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobEnd {
    #[serde(rename = "Job ID")]
    pub id: u32,
    #[serde(deserialize_with = "bounded", default, rename = "Completion Time")]
    pub time_ms: u64,
}

/// A stage as the start of its job describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct StageOutline {
    #[serde(rename = "Stage ID")]
    pub id: u32,
    #[serde(default, rename = "RDD Info")]
    pub rdds: Vec<Rdd>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rdd {
    #[serde(rename = "RDD ID")]
    pub id: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageEvent<'a> {
    #[serde(borrow, rename = "Stage Info")]
    pub stage: StageInfo<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageInfo<'a> {
    #[serde(rename = "Stage ID")]
    pub id: u32,
    #[serde(default, rename = "Stage Attempt ID")]
    pub attempt: u32,
    #[serde(default, rename = "RDD Info")]
    pub rdds: Vec<Rdd>,
    #[serde(default, rename = "Parent IDs")]
    pub parents: Vec<u32>,
    #[serde(deserialize_with = "bounded_if_there", default, rename = "Submission Time")]
    pub submitted_ms: Option<u64>,
    #[serde(deserialize_with = "bounded_if_there", default, rename = "Completion Time")]
    pub completed_ms: Option<u64>,
    #[serde(borrow, default, rename = "Accumulables")]
    pub accumulables: Vec<Accumulable<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Accumulable<'a> {
    #[serde(borrow, rename = "Name")]
    pub name: Option<Cow<'a, str>>,
    /// A number, or a text with one; of other accumulables anything.
    #[serde(rename = "Value")]
    pub value: Option<serde_json::Value>,
}

impl Accumulable<'_> {
    /// The value, if it is a whole number that sums can hold.
    pub fn number(&self) -> Option<u64> {
        let number = match self.value.as_ref()? {
            serde_json::Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        number.filter(|&number| number <= MOST)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskEnd<'a> {
    #[serde(rename = "Stage ID")]
    pub stage: u32,
    #[serde(default, rename = "Stage Attempt ID")]
    pub attempt: u32,
    #[serde(borrow, rename = "Task End Reason")]
    pub reason: Reason<'a>,
    #[serde(borrow, rename = "Task Info")]
    pub info: TaskInfo<'a>,
    #[serde(rename = "Task Metrics")]
    pub metrics: Option<Metrics>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Reason<'a> {
    #[serde(borrow, rename = "Reason")]
    pub name: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskInfo<'a> {
    #[serde(rename = "Index")]
    pub index: u32,
    #[serde(deserialize_with = "bounded", rename = "Launch Time")]
    pub launch_ms: u64,
    #[serde(deserialize_with = "bounded", rename = "Finish Time")]
    pub finish_ms: u64,
    #[serde(borrow, rename = "Executor ID")]
    pub executor: Cow<'a, str>,
    #[serde(borrow, rename = "Host")]
    pub host: Cow<'a, str>,
    #[serde(default, rename = "Speculative")]
    pub speculative: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metrics {
    #[serde(deserialize_with = "bounded", default, rename = "Executor Run Time")]
    pub run_ms: u64,
    #[serde(rename = "Shuffle Read Metrics")]
    pub read: Option<ReadMetrics>,
    #[serde(rename = "Shuffle Write Metrics")]
    pub write: Option<WriteMetrics>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReadMetrics {
    #[serde(deserialize_with = "bounded", default, rename = "Remote Blocks Fetched")]
    pub remote_blocks: u64,
    #[serde(deserialize_with = "bounded", default, rename = "Local Blocks Fetched")]
    pub local_blocks: u64,
    #[serde(deserialize_with = "bounded", default, rename = "Fetch Wait Time")]
    pub wait_ms: u64,
    #[serde(deserialize_with = "bounded", default, rename = "Remote Bytes Read")]
    pub remote: u64,
    #[serde(deserialize_with = "bounded", default, rename = "Local Bytes Read")]
    pub local: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct WriteMetrics {
    #[serde(deserialize_with = "bounded", default, rename = "Shuffle Bytes Written")]
    pub bytes: u64,
    #[serde(deserialize_with = "bounded", default, rename = "Shuffle Records Written")]
    pub records: u64,
}

/// Most of any number in a log, bytes and times alike: sums over four million tasks stay below 64
/// bits.
const MOST: u64 = 1 << 42;

/// A number that sums can hold, or none.
fn bounded_if_there<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Bounded(#[serde(deserialize_with = "bounded")] u64);
    Ok(Option::<Bounded>::deserialize(from)?.map(|Bounded(number)| number))
}

/// A number that sums can hold.
fn bounded<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(from)?;
    if number > MOST {
        let text = format!("expected a number of at most {MOST}, found {number}");
        return Err(serde::de::Error::custom(text));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_sums_cannot_hold_is_refused() {
        let written = |bytes: u64| {
            serde_json::from_str::<WriteMetrics>(&format!("{{\"Shuffle Bytes Written\":{bytes}}}"))
        };
        assert_eq!(written(MOST).expect("a number").bytes, MOST);
        let error = written(MOST + 1).expect_err("too large");
        assert!(error.to_string().contains("at most 4398046511104"), "{error}");
        let stage = |time: u64| {
            let info = format!("{{\"Stage ID\":0,\"Submission Time\":{time}}}");
            serde_json::from_str::<StageInfo<'_>>(&info).map(|info| info.submitted_ms)
        };
        assert_eq!(stage(MOST).expect("a time"), Some(MOST));
        assert!(stage(MOST + 1).is_err());
    }
}
