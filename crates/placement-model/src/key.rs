//! Keys of providers, consumers and aggregates, and which spellings are the same key.

use std::fmt;
use std::sync::Arc;

/// A key as it is stored and compared: in canonical form (lower case, dashes) if it is a UUID in any spelling, else as given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    pub fn new(text: &str) -> Self {
        Self(canonical(text).map_or_else(|| Arc::from(text), Arc::from))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The canonical form of a text that is a UUID after `urn:`, `uuid:`, braces around it and all dashes are removed: 32
/// hexadecimal digits.
pub fn canonical(text: &str) -> Option<String> {
    let bare = text.replace("urn:", "").replace("uuid:", "");
    let bare = bare.trim_matches(['{', '}']);
    let digits: String = bare.chars().filter(|&one| one != '-').map(|one| one.to_ascii_lowercase()).collect();
    let is_uuid = digits.len() == 32 && digits.bytes().all(|one| one.is_ascii_hexdigit());
    is_uuid.then(|| {
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        parts.join("-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uuid_are_one_key() {
        let key = Key::new("6b1e5f3a-0000-4000-8000-00000000abcd");
        for spelling in [
            "6B1E5F3A-0000-4000-8000-00000000ABCD",
            "6b1e5f3a00004000800000000000abcd",
            "urn:uuid:6b1e5f3a-0000-4000-8000-00000000abcd",
            "{6b1e5f3a-0000-4000-8000-00000000abcd}",
        ] {
            assert_eq!(Key::new(spelling), key, "{spelling}");
        }
        for other in ["", "x", "6b1e5f3a-0000-4000-8000-00000000abc", "6b1e5f3a-0000-4000-8000-00000000abcg"] {
            assert_eq!(Key::new(other).as_str(), other);
        }
    }
}
