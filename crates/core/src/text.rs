//! Escapes texts that others have written. In a condition, an event, a log line or a terminal they must not end the line, move
//! the cursor, or reorder what stands beside them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character changes how other characters are shown: control characters, bidirectional overrides and isolates, and
/// separators of lines and paragraphs.
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// The text with such characters escaped as JSON does (`\u202e`). Line feeds stay.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, |character| character != '\n' && is_deceptive(character))
}

/// The same in one line, and cut to so many characters.
pub fn escape_line(text: &str, most: usize) -> String {
    let cut = text.char_indices().nth(most);
    let line = escape_if(cut.map_or(text, |(end, _)| &text[..end]), is_deceptive);
    if cut.is_some() { format!("{line}...") } else { line.into_owned() }
}

/// The text with these characters escaped.
pub fn escape_if(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let escaped = text.chars().fold(String::new(), |mut escaped, character| {
        if is_escaped(character) {
            push_escaped(character, &mut escaped);
        } else {
            escaped.push(character);
        }
        escaped
    });
    escaped.into()
}

fn push_escaped(character: char, escaped: &mut String) {
    match character {
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        _ => {
            // Writing into a String does not fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_changes_the_line_is_escaped_and_what_does_not_stays() {
        for (text, escaped) in [
            ("az-a", "az-a"),
            ("über 東京 🚀", "über 東京 🚀"),
            ("a\u{1b}[2Jb", "a\\u001b[2Jb"),
            ("a\u{202e}b\u{2066}c\u{2029}", "a\\u202eb\\u2066c\\u2029"),
            ("a\r\tb\u{9b}", "a\\r\\tb\\u009b"),
            ("a\nb", "a\nb"),
        ] {
            assert_eq!(escape(text), escaped);
        }
        assert!(matches!(escape("nothing to do"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_has_no_line_feeds_and_is_cut() {
        assert_eq!(escape_line("a\nb", 10), "a\\nb");
        assert_eq!(escape_line("abcdef", 3), "abc...");
        assert_eq!(escape_line("abc", 3), "abc");
    }

    proptest! {
        #[test]
        fn nothing_deceptive_is_left(text in any::<String>()) {
            prop_assert!(!escape_line(&text, 50).contains(is_deceptive));
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(|character| character != '\n' && is_deceptive(character)));
            prop_assert_eq!(escape(&escaped), &*escaped);
        }

        #[test]
        fn an_escaped_json_text_is_the_same_text(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let read: String = serde_json::from_str(&escape(&json)).unwrap();
            prop_assert_eq!(read, text);
        }
    }
}
