//! Cutting text to a length in bytes.

/// The longest beginning of `text` that has at most `max` bytes and no character cut in two.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_character_is_never_cut_in_two() {
        assert_eq!(cut("aéz", 4), "aéz");
        assert_eq!(cut("aéz", 3), "aé");
        assert_eq!(cut("aéz", 2), "a");
        assert_eq!(cut("é", 0), "");
    }
}
