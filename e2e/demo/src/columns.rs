//! Rows in columns that are as wide as they need to be.

/// The cells of a row.
pub type Row<const COLUMNS: usize> = [String; COLUMNS];

/// Titles and rows as lines that are at most `width` characters long.
pub fn lines<const COLUMNS: usize>(titles: [&str; COLUMNS], rows: &[Row<COLUMNS>], width: usize) -> Vec<String> {
    let titles = titles.map(str::to_owned);
    let all = || std::iter::once(&titles).chain(rows);
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0));
    all().map(|row| cut(&line(row, widths), width)).collect()
}

fn line<const COLUMNS: usize>(row: &Row<COLUMNS>, widths: [usize; COLUMNS]) -> String {
    let padded: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    padded.join("  ").trim_end().to_owned()
}

fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
