//! Quotes texts of objects: in one line and with a limited length, so that conditions and logs stay readable.

/// Longer texts are cut. The length counts displayed characters: a control character takes six.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_stay_in_their_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"x".repeat(100)), format!("\"{}\"...", "x".repeat(60)));
        assert_eq!(quoted(&"\u{15}".repeat(11)), format!("\"{}\"...", r"\u{15}".repeat(10)));
    }
}
