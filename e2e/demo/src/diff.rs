//! A line diff of two texts, for display.

use similar::TextDiff;

/// The context lines around a difference.
const CONTEXT: usize = 3;

/// Lines that are only in `expected` begin with `-`, those only in `found` with `+`, and context lines with a blank.
pub fn lines(expected: &str, found: &str) -> String {
    TextDiff::from_lines(expected, found).unified_diff().context_radius(CONTEXT).missing_newline_hint(false).to_string()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn only_the_surroundings_of_a_difference_are_shown() {
        let expected = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        let found = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n";
        let shown = "@@ -2,9 +2,10 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n+11\n";
        assert_eq!(lines(expected, found), shown);
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(lines("a\nb", "a\nb"), "");
    }
}
