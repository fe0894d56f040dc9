//! The patterns of names in schemas. Each is a text, which clients see, and a function.

/// A regular expression of the API.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    pub text: &'static str,
    pub matches: fn(&str) -> bool,
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_')
}

fn is_custom(text: &str) -> bool {
    text.strip_prefix("CUSTOM_").is_some_and(is_name)
}

fn is_uuid_long(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|one| one.is_ascii_hexdigit() || one == b'-')
}

fn has_suffix_character(text: &str) -> bool {
    text.bytes().any(|one| one.is_ascii_alphanumeric() || one == b'_' || one == b'-')
}

impl Pattern {
    /// Names of classes, and of types of consumers.
    pub const NAME: Self = Self { text: "^[A-Z0-9_]+$", matches: is_name };
    pub const CUSTOM: Self = Self { text: "^CUSTOM_[A-Z0-9_]+$", matches: is_custom };
    pub const KEY: Self = Self { text: "^[0-9a-fA-F-]{36}$", matches: is_uuid_long };
    pub const SUFFIX: Self = Self { text: "[a-zA-Z0-9_-]{1,64}", matches: has_suffix_character };
    /// `consumer_type` of GET `/usages`, whose `^all` has no end.
    pub const KIND: Self = Self {
        text: "^[A-Z0-9_]+$|^all|^unknown$",
        matches: |text| is_name(text) || text.starts_with("all") || text == "unknown",
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_their_text_reports() {
        let cases: [(Pattern, &[&str], &[&str]); 5] = [
            (Pattern::NAME, &["VCPU", "A_1", "_"], &["", "vcpu", "VCPU\n", "Ä"]),
            (Pattern::CUSTOM, &["CUSTOM_A", "CUSTOM_1"], &["CUSTOM_", "VCPU", "XCUSTOM_A", "CUSTOM_A\n", "CUSTOM_a"]),
            (
                Pattern::KEY,
                &["6b1e5f3a-0000-4000-8000-00000000ABCD"],
                &["6b1e5f3a", "", "x6b1e5f3a-0000-4000-8000-00000000ab"],
            ),
            (Pattern::SUFFIX, &["_A", "1", "ä1"], &["", "ä", " "]),
            (Pattern::KIND, &["INSTANCE", "all", "allx", "unknown"], &["", "unknownx", "instance"]),
        ];
        for (pattern, good, bad) in cases {
            assert!(good.iter().all(|text| (pattern.matches)(text)), "{}", pattern.text);
            assert!(!bad.iter().any(|text| (pattern.matches)(text)), "{}", pattern.text);
        }
    }
}
