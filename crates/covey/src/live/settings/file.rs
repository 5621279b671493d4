//! Settings in a file.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Command;
use covey_core::suggest::{did_you_mean, nearest};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::given::{Given, Origin};
use super::option::{COMMANDS, Kind, Setting, settings};
use crate::failure::Failure;

/// The most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// A file with a section for each command.
pub struct File {
    path: PathBuf,
    sections: Vec<Section>,
}

/// What a file says of one command.
struct Section {
    name: String,
    line: usize,
    entries: Vec<Entry>,
}

/// What a file says of one option.
struct Entry {
    name: String,
    line: usize,
    content: Content,
}

/// What stands behind the equals sign.
enum Content {
    Text(String),
    Bool(bool),
    List(Vec<String>),
    /// A table of texts and numbers, as `NAME=VALUE,…`.
    Pairs(String),
    /// Something else, by its name.
    Other(&'static str),
}

impl File {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let shown = path.display();
        let wrong = |problem: String| Failure::Input(format!("--config: {shown}: {problem}"));
        let read = || {
            let mut text = String::new();
            std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
            Ok::<_, std::io::Error>(text)
        };
        let mut text = read().map_err(|error| wrong(error.to_string()))?;
        // Editors of Windows begin a file with a byte order mark.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("expected at most {MAX_BYTES} bytes")));
        }
        let line =
            |span: Range<usize>| 1 + text[..span.start.min(text.len())].matches('\n').count();
        let table = DeTable::parse(&text).map_err(|error| {
            let line = line(error.span().unwrap_or_default());
            Failure::Input(format!("{shown}: line {line}: {}", error.message().replace('\n', "; ")))
        })?;
        let mut sections = Vec::new();
        for (name, value) in table.get_ref().iter() {
            let DeValue::Table(entries) = value.get_ref() else {
                let (line, name) = (line(name.span()), name.get_ref());
                let expected = "expected a section, such as [serve], before it";
                return Err(Failure::Input(format!("{shown}: line {line}: {name}: {expected}")));
            };
            let entry = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| Entry {
                name: name.get_ref().to_string(),
                line: line(name.span()),
                content: content(value.get_ref()),
            };
            sections.push(Section {
                name: name.get_ref().to_string(),
                line: line(name.span()),
                entries: entries.iter().map(entry).collect(),
            });
        }
        Ok(File { path: path.to_owned(), sections })
    }

    /// Refuses sections that no command has, options that a command does not have, and values of a
    /// wrong type.
    pub fn check(&self, program: &Command) -> Result<(), Failure> {
        let mut all: Vec<&Section> = self.sections.iter().collect();
        all.sort_by_key(|section| section.line);
        for section in all {
            let name = COMMANDS.iter().find(|name| **name == section.name);
            let Some(command) = name.and_then(|name| program.find_subcommand(name)) else {
                let meant = did_you_mean(nearest(&section.name, COMMANDS));
                let problem = format!("no section is called '{}'{meant}", section.name);
                return Err(self.at(section.line, &problem));
            };
            let mut entries: Vec<&Entry> = section.entries.iter().collect();
            entries.sort_by_key(|entry| entry.line);
            for entry in entries {
                self.check_entry(command, entry)?;
            }
        }
        Ok(())
    }

    fn check_entry(&self, command: &Command, entry: &Entry) -> Result<(), Failure> {
        let Entry { name, line, content } = entry;
        let Some(setting) = settings(command).find(|setting| setting.name() == name) else {
            let is_option = command.get_arguments().any(|it| it.get_long() == Some(name));
            let problem = match is_option {
                true => format!("'{name}' can stand on the command line only"),
                false => {
                    let known = settings(command).map(|setting| setting.name());
                    let meant = did_you_mean(nearest(name, known));
                    format!("covey {} has no option '{name}'{meant}", command.get_name())
                }
            };
            return Err(self.at(*line, &problem));
        };
        let expected = match (setting.kind(), content) {
            (Kind::Flag, Content::Bool(_))
            | (Kind::Value, Content::Text(_))
            | (Kind::List, Content::List(_)) => return Ok(()),
            (Kind::Value, Content::Pairs(_)) if setting.takes_pairs() => return Ok(()),
            (Kind::Flag, _) => "true or false",
            (Kind::Value, _) => "a text in quotes or a number",
            (Kind::List, _) => "a list of texts, such as [\"a\", \"b\"]",
        };
        Err(self.at(*line, &format!("{name}: expected {expected}, found {}", content.kind())))
    }

    /// What the section of a command says of an option. The file has been checked.
    pub fn given(&self, section: &str, setting: &Setting<'_>) -> Option<Given> {
        let section = self.sections.iter().find(|it| it.name == section)?;
        let entry = section.entries.iter().find(|entry| entry.name == setting.name())?;
        let values = match &entry.content {
            Content::Text(text) | Content::Pairs(text) => vec![text.clone()],
            Content::List(items) if !items.is_empty() => items.clone(),
            Content::Bool(true) => vec![],
            Content::Bool(false) | Content::List(_) | Content::Other(_) => return None,
        };
        let origin = Origin::Line { path: self.path.clone(), line: entry.line };
        Some(Given { name: entry.name.clone(), values, origin })
    }

    fn at(&self, line: usize, problem: &str) -> Failure {
        Failure::Input(format!("{}: line {line}: {problem}", self.path.display()))
    }
}

impl Content {
    fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) => "a text or a number",
            Content::Bool(_) => "true or false",
            Content::List(_) => "a list",
            Content::Pairs(_) => "a table",
            Content::Other(kind) => kind,
        }
    }
}

/// A value as text, whatever it was written as.
fn content(value: &DeValue<'_>) -> Content {
    match (value, text(value)) {
        (_, Some(text)) => Content::Text(text),
        (DeValue::Boolean(flag), _) => Content::Bool(*flag),
        (DeValue::Array(items), _) => {
            let items = items.iter().map(|item| text(item.get_ref())).collect::<Option<Vec<_>>>();
            items.map_or(Content::Other("a list of something else"), Content::List)
        }
        (DeValue::Table(entries), _) => {
            let pair = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
                Some(format!("{}={}", name.get_ref(), text(value.get_ref())?))
            };
            let pairs = entries.iter().map(pair).collect::<Option<Vec<_>>>();
            pairs.map_or(Content::Other("a table"), |pairs| Content::Pairs(pairs.join(",")))
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
