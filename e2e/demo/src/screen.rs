//! The output: lines that stay, and below them, on a terminal, a table that is redrawn in place. Elsewhere, as in the
//! log of a CI, each change of the table is a separate line.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::size::Size;
use crate::table::Table;

pub struct Screen {
    table: Table,
    terminal: Option<Terminal>,
}

struct Terminal {
    size: Size,
    resized: Option<Signal>,
    /// The lines that are drawn below those that stay.
    drawn: Vec<String>,
}

impl Screen {
    pub async fn new() -> Self {
        let mut screen = Self { table: Table::empty(), terminal: None };
        if io::stdout().is_terminal() {
            let resized = signal(SignalKind::window_change()).ok();
            screen.terminal = Some(Terminal { size: Size::of_terminal().await, resized, drawn: Vec::new() });
        }
        screen
    }

    pub fn print(&mut self, text: &str) {
        let below = self.terminal.as_mut().map(Terminal::below).unwrap_or_default();
        print(&format!("{}{text}\n{}", below.erase, below.redraw));
    }

    /// Prints a finished step, and how long it took.
    pub fn done(&mut self, step: &str, since: Instant) {
        self.print(&format!("✓ {step} ({:.1} s)", since.elapsed().as_secs_f64()));
    }

    /// Shows the table, or its changes.
    pub fn show(&mut self, table: Table) {
        match &mut self.terminal {
            Some(terminal) => terminal.draw(&table),
            None => table.changed_lines(&self.table).iter().for_each(|line| print(&format!("  {line}\n"))),
        }
        self.table = table;
    }

    /// Leaves the table where it is; later lines come below it.
    pub fn leave_table(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.drawn.clear();
        }
    }

    /// Waits until the terminal is resized, and uses the new size.
    pub async fn resized(&mut self) {
        let Some(Terminal { size, resized: Some(resized), drawn }) = &mut self.terminal else {
            return std::future::pending().await;
        };
        resized.recv().await;
        *size = Size::of_terminal().await;
        // The terminal has wrapped the lines again: their positions are unknown.
        drawn.clear();
    }
}

/// The sequences that remove and restore the table.
#[derive(Default)]
struct Below {
    erase: String,
    redraw: String,
}

impl Terminal {
    fn below(&mut self) -> Below {
        let erase = if self.drawn.is_empty() { String::new() } else { format!("\x1b[{}A\x1b[J", self.drawn.len()) };
        let redraw = self.drawn.iter().flat_map(|line| [line, "\n"]).collect();
        Below { erase, redraw }
    }

    fn draw(&mut self, table: &Table) {
        let mut lines = table.lines(self.size.columns);
        // Lines that have scrolled away cannot be redrawn.
        lines.truncate(self.size.rows.saturating_sub(1));
        if lines != self.drawn {
            let erase = self.below().erase;
            self.drawn = lines;
            print(&format!("{erase}{}", self.below().redraw));
        }
    }
}

/// A closed stdout is no reason to fail.
fn print(text: &str) {
    let mut output = io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_taken_away_before_it_is_drawn_again() {
        let size = Size { rows: 24, columns: 80 };
        let mut terminal = Terminal { size, resized: None, drawn: Vec::new() };
        assert_eq!(terminal.below().erase, "");
        terminal.drawn = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(terminal.below().erase, "\x1b[2A\x1b[J");
        assert_eq!(terminal.below().redraw, "a\nb\n");
    }
}
