//! What a file of TOML says of options.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use clap::Command;
use covey_core::suggest::{did_you_mean, nearest};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::given::{Given, Origin};
use super::option::{Kind, Setting, settings};
use crate::failure::Failure;

/// The most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// What a file says of one name.
pub struct Entry {
    /// The name.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// What stands behind the equals sign.
    pub content: Content,
}

/// What stands behind the equals sign.
pub enum Content {
    /// A text or a number.
    Text(String),
    /// True or false.
    Bool(bool),
    /// Texts and numbers.
    List(Vec<String>),
    /// A table, or a section.
    Table {
        /// `NAME=VALUE,…`, if the values are texts and numbers.
        pairs: Option<String>,
        /// In the order of the file.
        entries: Vec<Entry>,
    },
    /// Something else, by its name.
    Other(&'static str),
}

/// The text of a file, or the problem with it.
pub fn read(path: &Path) -> Result<String, String> {
    let read = || {
        let mut text = String::new();
        std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    let mut text = read().map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("expected at most {MAX_BYTES} bytes"));
    }
    // Editors of Windows begin a file with a byte order mark.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// What a text says, in its order. The file at `path` has it.
pub fn entries(path: &Path, text: &str) -> Result<Vec<Entry>, Failure> {
    let line = |span: Range<usize>| 1 + text[..span.start.min(text.len())].matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let problem = error.message().replace('\n', "; ");
        at(path, line(error.span().unwrap_or_default()), &problem)
    })?;
    Ok(of_table(table.get_ref(), &line))
}

fn of_table(table: &DeTable<'_>, line: &dyn Fn(Range<usize>) -> usize) -> Vec<Entry> {
    let entry = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| Entry {
        name: name.get_ref().to_string(),
        line: line(name.span()),
        content: content(value.get_ref(), line),
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.line);
    entries
}

/// The error for a line of a file.
pub fn at(path: &Path, line: usize, problem: &str) -> Failure {
    Failure::Input(format!("{}: line {line}: {problem}", path.display()))
}

impl Entry {
    /// Refuses an option that a command does not have, or a value of a wrong type. The file at
    /// `path` has the entry, and may have the names `others`, too.
    pub fn check(&self, path: &Path, command: &Command, others: &[&str]) -> Result<(), Failure> {
        let Entry { name, line, content } = self;
        let Some(setting) = settings(command).find(|setting| setting.name() == name) else {
            let is_option = command.get_arguments().any(|it| it.get_long() == Some(name));
            let problem = match is_option {
                true => format!("'{name}' can stand on the command line only"),
                false => {
                    let known = settings(command).map(|setting| setting.name());
                    let meant = nearest(name, known.chain(others.iter().copied()));
                    let meant = did_you_mean(meant);
                    format!("covey {} has no option '{name}'{meant}", command.get_name())
                }
            };
            return Err(at(path, *line, &problem));
        };
        let expected = match (setting.kind(), content) {
            (Kind::Flag, Content::Bool(_))
            | (Kind::Value, Content::Text(_))
            | (Kind::List, Content::List(_)) => return Ok(()),
            (Kind::Value, Content::Table { pairs: Some(_), .. }) if setting.takes_pairs() => {
                return Ok(());
            }
            (Kind::Value, Content::List(items)) if setting.takes_items() && !items.is_empty() => {
                return Ok(());
            }
            (Kind::Value, Content::Bool(_)) if setting.takes_bool() => return Ok(()),
            (Kind::Flag, _) => "true or false",
            (Kind::Value, _) if setting.takes_bool() => "true or false",
            (Kind::Value, _) if setting.takes_items() => "a text, or a list of texts",
            (Kind::Value, _) => "a text in quotes or a number",
            (Kind::List, _) => "a list of texts, such as [\"a\", \"b\"]",
        };
        Err(at(path, *line, &format!("{name}: expected {expected}, found {}", content.kind())))
    }

    /// What it says of an option. It has been checked.
    pub fn given(&self, path: &Path, setting: &Setting<'_>) -> Option<Given> {
        let values = match &self.content {
            Content::Bool(flag) if setting.takes_bool() => vec![flag.to_string()],
            Content::List(items) if setting.takes_items() => vec![items.join(",")],
            Content::Text(text) | Content::Table { pairs: Some(text), .. } => vec![text.clone()],
            Content::List(items) if !items.is_empty() => items.clone(),
            Content::Bool(true) => vec![],
            _ => return None,
        };
        let origin = Origin::Line { path: path.to_owned(), line: self.line };
        Some(Given { name: self.name.clone(), values, origin })
    }
}

impl Content {
    /// What it is.
    pub fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) => "a text or a number",
            Content::Bool(_) => "true or false",
            Content::List(items) if items.is_empty() => "an empty list",
            Content::List(_) => "a list",
            Content::Table { .. } => "a table",
            Content::Other(kind) => kind,
        }
    }
}

/// A value as text, whatever it was written as.
fn content(value: &DeValue<'_>, line: &dyn Fn(Range<usize>) -> usize) -> Content {
    match (value, text(value)) {
        (_, Some(text)) => Content::Text(text),
        (DeValue::Boolean(flag), _) => Content::Bool(*flag),
        (DeValue::Array(items), _) => {
            let items = items.iter().map(|item| text(item.get_ref())).collect::<Option<Vec<_>>>();
            items.map_or(Content::Other("a list of something else"), Content::List)
        }
        (DeValue::Table(table), _) => {
            let pair = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
                Some(format!("{}={}", name.get_ref(), text(value.get_ref())?))
            };
            let pairs = table.iter().map(pair).collect::<Option<Vec<_>>>();
            Content::Table {
                pairs: pairs.map(|pairs| pairs.join(",")),
                entries: of_table(table, line),
            }
        }
        _ => Content::Other("a date"),
    }
}

/// A text or a number.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(match number.radix() {
            10 => number.as_str().to_owned(),
            radix => i128::from_str_radix(number.as_str(), radix).ok()?.to_string(),
        }),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}
