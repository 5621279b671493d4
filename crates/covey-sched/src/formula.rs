//! A formula as users write it, such as `width*sent`, over names that somebody else defines.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = "-" sign | power
//! power   = atom [ "^" sign ]
//! atom    = number | name | function "(" sum ")" | "(" sum ")"
//! ```

use covey_core::suggest::{did_you_mean, nearest};

/// The most characters of a formula. It bounds how deep one goes.
const MOST: usize = 200;

type One = fn(f64) -> f64;
type Two = fn(f64, f64) -> f64;

/// The functions. Their last digits are the same on every machine.
const FUNCTIONS: [(&str, One); 3] =
    [("sqrt", libm::sqrt), ("log", libm::log), ("floor", libm::floor)];

/// A formula whose names stand for a `Q` each.
#[derive(Debug)]
pub(crate) enum Formula<Q> {
    Number(f64),
    Quantity(Q),
    One(One, Box<Formula<Q>>),
    Two(Two, Box<[Formula<Q>; 2]>),
}

impl<Q: Copy> Formula<Q> {
    /// Reads a formula over names.
    ///
    /// # Errors
    /// What was expected, and at which column.
    pub fn parse(text: &str, names: &[(&'static str, Q)]) -> Result<Formula<Q>, String> {
        if text.chars().count() > MOST {
            return Err(format!("at most {MOST} characters"));
        }
        let mut parser = Parser { text, at: 0, names };
        let formula = parser.sum()?;
        if parser.peek().is_some() {
            return Err(parser.expected("an operator (+ - * / ^)"));
        }
        Ok(formula)
    }

    /// The value with the given values of quantities, which may be infinite or no number.
    pub fn value(&self, of: &impl Fn(Q) -> f64) -> f64 {
        match self {
            Formula::Number(number) => *number,
            Formula::Quantity(quantity) => of(*quantity),
            Formula::One(function, argument) => function(argument.value(of)),
            Formula::Two(operator, sides) => operator(sides[0].value(of), sides[1].value(of)),
        }
    }

    /// Whether it has a quantity that `is` so.
    pub fn any(&self, is: &impl Fn(Q) -> bool) -> bool {
        match self {
            Formula::Number(_) => false,
            Formula::Quantity(quantity) => is(*quantity),
            Formula::One(_, argument) => argument.any(is),
            Formula::Two(_, sides) => sides.iter().any(|side| side.any(is)),
        }
    }
}

struct Parser<'a, Q> {
    text: &'a str,
    /// Bytes of the text that have been read.
    at: usize,
    names: &'a [(&'static str, Q)],
}

impl<Q: Copy> Parser<'_, Q> {
    fn sum(&mut self) -> Result<Formula<Q>, String> {
        self.chain(&[('+', |a, b| a + b), ('-', |a, b| a - b)], Self::product)
    }

    fn product(&mut self) -> Result<Formula<Q>, String> {
        self.chain(&[('*', |a, b| a * b), ('/', |a, b| a / b)], Self::sign)
    }

    /// Operands with operators of equal precedence between them, from left to right.
    fn chain(
        &mut self,
        operators: &[(char, Two)],
        operand: fn(&mut Self) -> Result<Formula<Q>, String>,
    ) -> Result<Formula<Q>, String> {
        let mut left = operand(self)?;
        while let Some(&(_, operator)) = operators.iter().find(|(sign, _)| self.takes(*sign)) {
            left = Formula::Two(operator, Box::new([left, operand(self)?]));
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Formula<Q>, String> {
        if self.takes('-') {
            return Ok(Formula::One(|a| -a, Box::new(self.sign()?)));
        }
        let base = self.atom()?;
        if !self.takes('^') {
            return Ok(base);
        }
        Ok(Formula::Two(libm::pow, Box::new([base, self.sign()?])))
    }

    fn atom(&mut self) -> Result<Formula<Q>, String> {
        let Some(first) = self.peek() else {
            return Err(self.expected("a name, a number or '('"));
        };
        if self.takes('(') {
            return self.closed();
        }
        let begin = self.at;
        let is_number = first.is_ascii_digit() || first == '.';
        let rest = &self.text[begin..];
        let length = if is_number {
            number_length(rest)
        } else {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        };
        let word = &rest[..length];
        if is_number {
            let number = word.parse().map_err(|_| self.expected("a number"))?;
            self.at += length;
            return Ok(Formula::Number(number));
        }
        if let Some(&(_, quantity)) = self.names.iter().find(|(name, _)| *name == word) {
            self.at += length;
            return Ok(Formula::Quantity(quantity));
        }
        let Some(&(_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
            let functions = FUNCTIONS.iter().map(|(name, _)| *name);
            let known: Vec<&str> =
                self.names.iter().map(|(name, _)| *name).chain(functions).collect();
            let what = if word.is_empty() {
                "a name, a number or '('".to_owned()
            } else {
                let meant = did_you_mean(nearest(word, known.iter().copied()));
                format!("one of {}{meant}", known.join(", "))
            };
            return Err(self.expected(&what));
        };
        self.at += length;
        if !self.takes('(') {
            return Err(self.expected(&format!("'(' after {word}")));
        }
        Ok(Formula::One(function, Box::new(self.closed()?)))
    }

    /// Reads what stands behind an opening parenthesis, and the closing one.
    fn closed(&mut self) -> Result<Formula<Q>, String> {
        let inside = self.sum()?;
        if self.takes(')') { Ok(inside) } else { Err(self.expected("an operator or ')'")) }
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Reads a character if it is the next one.
    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    fn expected(&mut self, what: &str) -> String {
        self.peek();
        let column = self.text[..self.at].chars().count() + 1;
        format!("at column {column} {what}")
    }
}

/// The length of the number at the beginning of a text: `12`, `.5`, `1e-3`.
fn number_length(text: &str) -> usize {
    let end = |from: usize, is: fn(char) -> bool| {
        text[from..].find(|c| !is(c)).map_or(text.len(), |length| from + length)
    };
    let mantissa = end(0, |c| c.is_ascii_digit() || c == '.');
    if !text[mantissa..].starts_with(['e', 'E']) {
        return mantissa;
    }
    let signed = mantissa + 1 + usize::from(text[mantissa + 1..].starts_with(['+', '-']));
    let exponent = end(signed, |c| c.is_ascii_digit());
    if exponent > signed { exponent } else { mantissa }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [(&str, f64); 3] = [("sent", 5.0), ("width", 3.0), ("zero", 0.0)];

    fn value(text: &str) -> Result<f64, String> {
        Formula::parse(text, &NAMES).map(|formula| formula.value(&|quantity| quantity))
    }

    #[test]
    fn values_are_those_of_arithmetic() {
        let cases = [
            ("width*sent", 15.0),
            ("1 + 2*3", 7.0),
            ("(1+2) * 3", 9.0),
            ("10-3-2", 5.0),
            ("16/4/2", 2.0),
            ("-2^2", -4.0),
            ("2^-1", 0.5),
            ("2^3^2", 512.0),
            ("--3", 3.0),
            ("sqrt(16) - floor(2.9)", 2.0),
            ("log(1)", 0.0),
            (" 1e3+.5 ", 1000.5),
            ("1.5e-1*2", 0.3),
            ("1/zero", f64::INFINITY),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        assert!(value("zero/zero").is_ok_and(f64::is_nan));
    }

    #[test]
    fn errors_name_the_column_and_suggest_a_name() {
        let names = "sent, width, zero, sqrt, log, floor";
        let cases = [
            ("", "at column 1 a name, a number or '('".to_owned()),
            ("2*", "at column 3 a name, a number or '('".to_owned()),
            ("2*)", "at column 3 a name, a number or '('".to_owned()),
            ("2*widht", format!("at column 3 one of {names}; did you mean 'width'?")),
            ("é", format!("at column 1 one of {names}")),
            ("sent sent", "at column 6 an operator (+ - * / ^)".to_owned()),
            ("10MB", "at column 3 an operator (+ - * / ^)".to_owned()),
            ("1e", "at column 2 an operator (+ - * / ^)".to_owned()),
            ("1.2.3", "at column 1 a number".to_owned()),
            ("sqrt sent", "at column 6 '(' after sqrt".to_owned()),
            ("(1+2", "at column 5 an operator or ')'".to_owned()),
            ("1)", "at column 2 an operator (+ - * / ^)".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Err(expected), "{text}");
        }
        assert_eq!(value(&"(".repeat(201)), Err("at most 200 characters".to_owned()));
        assert!(value(&"-".repeat(200)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_has_a_value_or_an_error(text in ".{0,210}") {
            let _ = value(&text);
        }

        /// Texts of the right characters go deeper.
        #[test]
        fn any_text_of_its_words_has_a_value_or_an_error(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "sent", "width", "sqrt", "(", ")", "+", "-", "*", "/", "^", "1", ".", "e", " ",
                ]),
                0..60,
            )
        ) {
            let text = words.concat();
            if let Err(expected) = value(&text) {
                prop_assert!(expected.starts_with("at "), "{text}: {expected}");
            }
        }

        #[test]
        fn a_sum_is_what_rust_makes_of_it(a in 0.0..1e9, b in 0.0..1e9, c in 0.1..1e9) {
            prop_assert_eq!(value(&format!("{a}-{b}/{c}*{a}")), Ok(a - b / c * a));
        }
    }
}
