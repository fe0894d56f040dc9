//! Formats columns, each as wide as its widest cell.

use berth_core::text::escape_line;

/// The width of the widest column.
const WIDEST: usize = 200;

/// Rows of cells as lines, indented by two. Columns whose numbers are in `right` are aligned to the right. Cells have one line, and long ones
/// are cut.
pub(super) fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let escaped = |row: &Vec<String>| row.iter().map(|cell| escape_line(cell, WIDEST)).collect();
    align(&rows.iter().map(escaped).collect::<Vec<_>>(), right)
}

fn align(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let (before, after) =
                if right.contains(&column) { (padding, String::new()) } else { (String::new(), padding) };
            line.extend(["  ", &before, cell, &after]);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let rows = [row(["NAME", "COUNT", "WHY"]), row(["a long one", "1", ""]), row(["b", "20", "so"])];
        assert_eq!(table(&rows, &[1]), "  NAME        COUNT  WHY\n  a long one      1\n  b              20  so\n");
        assert_eq!(table(&[], &[]), "");
    }

    #[test]
    fn a_cell_cannot_begin_another_line_and_is_not_wider_than_200_columns() {
        assert_eq!(table(&[row(["a\nb\u{202e}", "c"])], &[]), "  a\\nb\\u202e  c\n");
        assert_eq!(table(&[row([&"x".repeat(201)])], &[]), format!("  {}...\n", "x".repeat(200)));
    }
}
