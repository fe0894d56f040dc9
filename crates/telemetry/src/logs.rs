//! Log lines: one readable line or one JSON object each, on standard error, filtered by the flags and the variable.

use std::io::{self, IsTerminal as _, Write};
use std::str::FromStr;

use berth_core::text::{escape_if, is_deceptive};
use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;

use crate::error::TelemetryError;
pub use crate::verbosity::Level;
use crate::verbosity::{ShownLevel, Verbosity};

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Human,
    Json,
}

impl FromStr for Format {
    type Err = TelemetryError;

    /// Reads the value of `--log-format` (`human`, `json`) and of `--zap-encoder` (`console`, `json`).
    fn from_str(text: &str) -> Result<Self, TelemetryError> {
        match text.to_ascii_lowercase().as_str() {
            "human" | "console" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err(TelemetryError::LogFormat { found: text.to_owned() }),
        }
    }
}

/// The log settings of the command line and the environment; each may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub format: Option<Format>,
    pub level: Option<Level>,
    pub encoder: Option<Format>,
    pub devel: Option<bool>,
    pub variable: Option<String>,
    /// The variable `RUST_LOG`: directives per module, for an investigation. They replace the level.
    pub directives: Option<String>,
}

impl LogOptions {
    /// The format: `--log-format`, else that of the zap flags, else text for terminals and JSON otherwise.
    pub fn format(&self, terminal: bool) -> Format {
        let devel = self.devel.map(|devel| if devel { Format::Human } else { Format::Json });
        let default = if terminal { Format::Human } else { Format::Json };
        self.format.or(self.encoder).or(devel).unwrap_or(default)
    }

    /// The level: the flag, else the variable, else `debug` with `--zap-devel`, else `info`.
    pub fn level(&self) -> Level {
        let default = if self.devel == Some(true) { Level::Debug } else { Level::Info };
        self.level.or_else(|| self.variable.as_deref().and_then(Level::from_variable)).unwrap_or(default)
    }

    fn shown(&self) -> ShownLevel {
        let level = self.level();
        match self.directives.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => ShownLevel { words: text.to_owned(), directives: text.to_owned() },
            None => ShownLevel { words: level.to_string(), directives: level.directives().to_owned() },
        }
    }
}

/// Sends log lines to standard error from now on, and turns panics into log lines. To be called once, before anything
/// else. The result changes the log level.
pub fn init(wanted: &LogOptions) -> Result<Verbosity, TelemetryError> {
    let terminal = std::io::stderr().is_terminal();
    let (subscriber, verbosity) = subscriber(wanted.format(terminal), wanted.shown(), terminal, std::io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| TelemetryError::LogsTwice)?;
    std::panic::set_hook(Box::new(|panic| tracing::error!(panic = %panic, "bug: a task panicked")));
    let unknown = |text: &&str| !text.is_empty() && Level::from_variable(text).is_none();
    if let Some(found) = wanted.variable.as_deref().filter(unknown) {
        tracing::error!(found, "LOG_LEVEL is not a level; using info. Write debug, info, warn or error");
    }
    Ok(verbosity)
}

/// The subscriber of log lines, and the handle that changes their level.
type Log = (Box<dyn Subscriber + Send + Sync>, Verbosity);

fn subscriber<W>(format: Format, shown: ShownLevel, colours: bool, writer: W) -> Result<Log, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines =
        tracing_subscriber::fmt().with_env_filter(shown.filter()?).with_writer(EscapedLines { writer, colours });
    Ok(match format {
        Format::Human => {
            let lines = lines.compact().with_ansi(colours).with_filter_reloading();
            let handle = lines.reload_handle();
            (Box::new(lines.finish()), Verbosity::new(shown, move |filter| handle.reload(filter).is_ok()))
        }
        Format::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_filter_reloading();
            let handle = lines.reload_handle();
            (Box::new(lines.finish()), Verbosity::new(shown, move |filter| handle.reload(filter).is_ok()))
        }
    })
}

const ESC: char = '\u{1b}';

/// Keeps the sequences that set colours, which every part of a line may have.
fn escape_except_colours(text: &str) -> String {
    let mut parts = text.split(ESC);
    let mut escaped = escape_if(parts.next().unwrap_or_default(), is_deceptive).into_owned();
    for part in parts {
        escaped.push_str(if is_colour(part) { "\u{1b}" } else { "\\u001b" });
        escaped.push_str(&escape_if(part, is_deceptive));
    }
    escaped
}

/// Whether a text that follows ESC begins with the rest of such a sequence.
fn is_colour(text: &str) -> bool {
    let codes =
        text.strip_prefix('[').map(|rest| rest.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ';'));
    codes.is_some_and(|rest| rest.starts_with('m'))
}

/// Makes writers that escape what others could use to forge or hide lines. Each line is written at once.
struct EscapedLines<W> {
    writer: W,
    colours: bool,
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for EscapedLines<W> {
    type Writer = EscapedLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        EscapedLine { writer: self.writer.make_writer(), colours: self.colours }
    }
}

struct EscapedLine<W> {
    writer: W,
    colours: bool,
}

impl<W: Write> Write for EscapedLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        let escaped =
            if self.colours { escape_except_colours(text) } else { escape_if(text, is_deceptive).into_owned() };
        self.writer.write_all((escaped + end).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(format: Format, wanted: &LogOptions) -> String {
        let buffer = Buffer::default();
        let target = buffer.clone();
        let (subscriber, _) = subscriber(format, wanted.shown(), false, move || target.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("request", request_id = "r-1").entered();
            tracing::info!(host = "node-1\nfake line", "slot placed");
            tracing::debug!("why");
        });
        String::from_utf8(buffer.0.lock().clone()).unwrap()
    }

    #[test]
    fn a_human_line_is_one_line_with_message_fields_and_span() {
        let text = written(Format::Human, &LogOptions::default());
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in ["INFO", "request", "slot placed", r#"host="node-1\nfake line""#, r#"request_id="r-1""#] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_value_can_neither_end_a_line_nor_reorder_it() {
        for format in [Format::Human, Format::Json] {
            let buffer = Buffer::default();
            let target = buffer.clone();
            let options = LogOptions::default();
            let (subscriber, _) = subscriber(format, options.shown(), true, move || target.clone()).unwrap();
            tracing::subscriber::with_default(subscriber, || {
                tracing::info!(zone = %"a\n2026 ERROR forged\u{202e}\u{2028}\u{1b}[2J", "slot\rplaced");
            });
            let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
            let (lines, deceptive) = (text.matches('\n').count(), text.contains(['\r', '\u{202e}', '\u{2028}']));
            assert!(lines == 1 && !deceptive && !text.contains("\u{1b}[2J"), "{text:?}");
        }
    }

    #[test]
    fn a_json_line_has_stable_fields() {
        let text = written(Format::Json, &LogOptions::default());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["level"], &value["message"]), (&"INFO".into(), &"slot placed".into()));
        assert_eq!((&value["host"], &value["spans"][0]["request_id"]), (&"node-1\nfake line".into(), &"r-1".into()));
    }

    #[test]
    fn the_level_decides_what_is_shown() {
        let level = |level| LogOptions { level: Some(level), ..LogOptions::default() };
        assert_eq!(written(Format::Json, &level(Level::Debug)).lines().count(), 2);
        assert_eq!(written(Format::Json, &level(Level::Error)), "");
    }

    #[test]
    fn what_is_shown_changes_while_lines_are_written() {
        for format in [Format::Human, Format::Json] {
            let buffer = Buffer::default();
            let target = buffer.clone();
            let (subscriber, verbosity) =
                subscriber(format, LogOptions::default().shown(), false, move || target.clone()).unwrap();
            tracing::subscriber::with_default(subscriber, || {
                for level in ["debug", "error", "reset"] {
                    tracing::debug!("before {level}");
                    verbosity.change(level).unwrap();
                }
            });
            let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
            let shown = ["before debug", "before error", "before reset"].map(|line| text.contains(line));
            assert_eq!(shown, [false, true, false], "{text}");
            assert_eq!(text.matches("log level changed").count(), 2, "not at error: {text}");
        }
    }

    #[test]
    fn the_flag_wins_over_the_variable_and_the_variable_over_the_default() {
        let level = |flag: Option<Level>, variable: Option<&str>, devel| {
            LogOptions { level: flag, variable: variable.map(str::to_owned), devel, ..LogOptions::default() }.level()
        };
        assert_eq!(level(None, None, None), Level::Info);
        assert_eq!(level(None, None, Some(true)), Level::Debug);
        assert_eq!(level(None, Some("WARNING"), Some(true)), Level::Warn);
        assert_eq!(level(None, Some("loud"), None), Level::Info);
        assert_eq!(level(None, Some("5"), None), Level::Info);
        assert_eq!(level(Some(Level::Error), Some("debug"), None), Level::Error);
    }

    #[test]
    fn names_and_numbers_of_the_flag() {
        for (text, level) in [
            ("debug", Level::Debug),
            ("1", Level::Debug),
            ("7", Level::Trace),
            ("panic", Level::Error),
            ("Info", Level::Info),
        ] {
            assert_eq!(Level::from_flag(text).unwrap(), level, "{text}");
        }
        for text in ["0", "-1", "", "loud"] {
            assert!(matches!(Level::from_flag(text), Err(TelemetryError::LogLevel { .. })), "{text}");
        }
    }

    #[test]
    fn the_form_follows_the_most_specific_option() {
        let human = Some(Format::Human);
        let json = Some(Format::Json);
        let format = |format, encoder, devel, terminal| {
            LogOptions { format, encoder, devel, ..LogOptions::default() }.format(terminal)
        };
        assert_eq!(format(None, None, None, true), Format::Human);
        assert_eq!(format(None, None, None, false), Format::Json);
        assert_eq!(format(None, None, Some(true), false), Format::Human);
        assert_eq!(format(None, None, Some(false), true), Format::Json);
        assert_eq!(format(None, json, Some(true), true), Format::Json);
        assert_eq!(format(human, json, None, false), Format::Human);
    }
}
