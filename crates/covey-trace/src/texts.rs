//! Texts that are kept once each.

use std::collections::HashMap;

/// Texts by number, in order of their first use.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    /// The number of a text.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The number of a text that has one.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// All texts, by number.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
