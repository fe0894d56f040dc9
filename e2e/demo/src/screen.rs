//! What people see: lines that stay, and below them, on a terminal, a table that is drawn in place. Elsewhere, as in the
//! log of a CI, each change of the table is a line of its own.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::size::Size;
use crate::table::Table;

/// Standard output.
pub struct Screen {
    table: Table,
    terminal: Option<Terminal>,
}

struct Terminal {
    size: Size,
    resized: Option<Signal>,
    /// The lines that are drawn below what stays.
    drawn: Vec<String>,
}

impl Screen {
    /// An empty screen.
    pub async fn new() -> Self {
        let mut screen = Self { table: Table::empty(), terminal: None };
        if io::stdout().is_terminal() {
            let resized = signal(SignalKind::window_change()).ok();
            screen.terminal = Some(Terminal { size: Size::of_terminal().await, resized, drawn: Vec::new() });
        }
        screen
    }

    /// Text that stays.
    pub fn say(&mut self, text: &str) {
        let below = self.terminal.as_mut().map(Terminal::below).unwrap_or_default();
        print(&format!("{}{text}\n{}", below.erase, below.redraw));
    }

    /// A step that has been done, and how long it took.
    pub fn done(&mut self, step: &str, since: Instant) {
        self.say(&format!("✓ {step} ({:.1} s)", since.elapsed().as_secs_f64()));
    }

    /// Shows the table, or what has changed in it.
    pub fn show(&mut self, table: Table) {
        match &mut self.terminal {
            Some(terminal) => terminal.draw(&table),
            None => table.news(&self.table).iter().for_each(|line| print(&format!("  {line}\n"))),
        }
        self.table = table;
    }

    /// Lets the table stay where it is; what is said from now on comes below it.
    pub fn leave_table(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.drawn.clear();
        }
    }

    /// Waits until the terminal has another size, and takes it over.
    pub async fn resized(&mut self) {
        let Some(Terminal { size, resized: Some(resized), drawn }) = &mut self.terminal else {
            return std::future::pending().await;
        };
        resized.recv().await;
        *size = Size::of_terminal().await;
        // The terminal has wrapped the lines anew: nobody knows where they begin.
        drawn.clear();
    }
}

/// What takes the table away, and what brings it back.
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
        // Lines that have scrolled away cannot be drawn again.
        lines.truncate(self.size.rows.saturating_sub(1));
        if lines != self.drawn {
            let erase = self.below().erase;
            self.drawn = lines;
            print(&format!("{erase}{}", self.below().redraw));
        }
    }
}

/// Nobody reads any more: that is no reason to fail.
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
