//! The size of the terminal, from `stty`: asking the kernel directly needs unsafe code.

use std::process::Stdio;

use tokio::process::Command;

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of visible lines.
    pub rows: usize,
    pub columns: usize,
}

/// The size of a terminal that does not report one.
const USUAL: Size = Size { rows: 24, columns: 80 };

impl Size {
    /// The size of the terminal that this process belongs to.
    pub async fn of_terminal() -> Self {
        let mut stty = Command::new("stty");
        let output = stty.args(["-F", "/dev/tty", "size"]).stdin(Stdio::null()).output().await;
        output.ok().and_then(|output| parse(&String::from_utf8_lossy(&output.stdout))).unwrap_or(USUAL)
    }
}

fn parse(text: &str) -> Option<Size> {
    let (rows, columns) = text.trim().split_once(' ')?;
    let size = Size { rows: rows.parse().ok()?, columns: columns.parse().ok()? };
    (size.rows > 0 && size.columns > 0).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_stty_is_rows_and_columns() {
        assert_eq!(parse("50 211\n"), Some(Size { rows: 50, columns: 211 }));
        assert_eq!(parse("0 0\n"), None);
        assert_eq!(parse("stty: /dev/tty: No such device or address"), None);
    }
}
