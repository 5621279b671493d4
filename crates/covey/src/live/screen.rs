//! A terminal that shows pages, and is as it was afterwards whatever happens.

use std::io::{self, BufWriter, Write, stdout};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};

/// The terminal, until it is dropped.
pub struct Screen(());

impl Screen {
    /// Takes the terminal over. It is given back after a panic, too.
    pub fn enter() -> io::Result<Screen> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        enable_raw_mode()?;
        // From here on an error gives it back.
        let screen = Screen(());
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        // Some terminals do not know theirs, and say 0.
        let known = size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
        let (columns, rows) = known.unwrap_or((80, 24));
        (columns.into(), rows.into())
    }

    /// Shows lines from the top, as far as they fit.
    pub fn draw(&self, lines: &[String], columns: usize, rows: usize) -> io::Result<()> {
        let mut out = BufWriter::new(stdout().lock());
        queue!(out, BeginSynchronizedUpdate)?;
        for (row, line) in lines.iter().take(rows).enumerate() {
            let line: String = line.chars().take(columns).collect();
            // The rest of the line goes first, because the cursor may stand on the last column
            // afterwards.
            queue!(out, MoveTo(0, row as u16), Clear(ClearType::CurrentLine), Print(line))?;
        }
        if lines.len() < rows {
            queue!(out, MoveTo(0, lines.len() as u16), Clear(ClearType::FromCursorDown))?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. If that fails, the terminal has gone.
fn restore() {
    let _ = execute!(stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
