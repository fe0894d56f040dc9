//! The end of a log file, for messages.

use std::fs;
use std::path::Path;

const LINES: usize = 20;

/// The last lines of a file; a file that cannot be read has none.
pub(crate) fn tail(path: &Path) -> String {
    let text = read(path);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

pub(crate) fn last_line(path: &Path) -> String {
    read(path).lines().next_back().unwrap_or_default().to_owned()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let lines: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
        fs::write(&file, lines.join("\n")).unwrap();
        assert_eq!(tail(&file), lines[80..].join("\n"));
        assert_eq!(last_line(&file), "100");
        assert_eq!(tail(&folder.path().join("absent")), "");
    }
}
