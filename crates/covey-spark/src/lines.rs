//! Lines of bounded length.

use std::io::{self, BufRead, Read};

/// Most bytes of a line. The longest lines of real logs, with the plans of queries, have some
/// megabytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without its end.
    Whole,
    /// A line of more than [`MAX_LINE_BYTES`], of which the rest was passed over.
    TooLong,
    /// The last line, without a line break: it may be cut off.
    Last,
    /// No more lines.
    End,
}

/// Reads the next line into `line`.
///
/// # Errors
/// Those of the source. What `line` has then is the start of a line.
pub(crate) fn next(source: &mut dyn BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<Line> {
    line.clear();
    source.take(max as u64 + 1).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Line::Whole);
    }
    if line.len() <= max {
        return Ok(if line.is_empty() { Line::End } else { Line::Last });
    }
    pass_over(source)?;
    line.clear();
    line.shrink_to(1 << 20);
    Ok(Line::TooLong)
}

/// Passes over the rest of a line.
fn pass_over(source: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = source.fill_buf()?;
        let length = buffer.len();
        let end = buffer.iter().position(|&byte| byte == b'\n');
        source.consume(end.map_or(length, |end| end + 1));
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_passed_over_and_the_next_one_is_read() {
        let mut source: &[u8] = b"ab\nabcdef\n\nabc";
        let mut line = Vec::new();
        let mut read = || {
            let kind = next(&mut source, &mut line, 3).expect("memory");
            (kind, String::from_utf8(line.clone()).expect("text"))
        };
        assert_eq!(read(), (Line::Whole, "ab".to_owned()));
        assert_eq!(read(), (Line::TooLong, String::new()));
        assert_eq!(read(), (Line::Whole, String::new()));
        assert_eq!(read(), (Line::Last, "abc".to_owned()));
        assert_eq!(read(), (Line::End, String::new()));
    }
}
