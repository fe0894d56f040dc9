//! Texts of others inside of ours: in quotes, in one line, and never longer than a line. Conditions and logs have to stay
//! readable whatever stands in an object.

/// Longer texts are cut, in characters as they are shown: a control character takes six.
const SHOWN: usize = 60;

/// A text in quotes; a long one is cut.
pub(crate) fn quoted(text: &str) -> String {
    let mut width = 0;
    let cut = text.char_indices().find(|(_, character)| {
        width += character.escape_debug().len();
        width > SHOWN
    });
    match cut {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// What a library says, cut to so many characters and without line breaks.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() < text.len() {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_stay_in_their_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"x".repeat(100)), format!("\"{}\"...", "x".repeat(60)));
        assert_eq!(quoted(&"\u{15}".repeat(11)), format!("\"{}\"...", r"\u{15}".repeat(10)));
        assert_eq!(one_line("a\nb", 10), "a b");
        assert_eq!(one_line("abcdef", 3), "abc...");
    }
}
