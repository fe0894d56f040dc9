//! A shared secret of the configuration: never shown, and compared in constant time.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use subtle::ConstantTimeEq;

/// A bearer token.
#[derive(Clone, Debug)]
pub struct Token(SecretString);

impl Token {
    /// What a value of the configuration means; an empty text means no token. Errors do not show the value.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, String> {
        let text = value.as_str().ok_or("is not a text; write one in quotes")?;
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok((!text.is_empty()).then(|| Self(text.into())))
        } else {
            Err("holds more than visible ASCII characters, which cannot be sent; choose another token".to_owned())
        }
    }

    /// The token itself, to be sent.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// Whether a client has sent this token. The time this takes reveals nothing but its length.
    pub fn is(&self, shown: &[u8]) -> bool {
        self.reveal().as_bytes().ct_eq(shown).into()
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.reveal().as_bytes())
    }
}

impl Eq for Token {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(text: &str) -> Token {
        Token::read(&json!(text)).unwrap().unwrap()
    }

    #[test]
    fn only_the_same_bytes_are_the_token() {
        for other in ["", "s3cre", "s3cretX", "S3cret", "s3creT", "t3cret", "s3cret "] {
            assert!(!token("s3cret").is(other.as_bytes()), "{other:?}");
        }
        assert!(token("s3cret").is(b"s3cret"));
    }

    #[test]
    fn it_is_never_shown() {
        assert_eq!(format!("{:?}", Some(token("s3cret"))), "Some(Token(SecretBox<str>([REDACTED])))");
    }

    #[test]
    fn what_cannot_be_sent_is_no_token() {
        for wrong in [json!("two words"), json!("line\nbreak"), json!("geh\u{e9}im"), json!(42), json!(["s3cret"])] {
            let text = Token::read(&wrong).unwrap_err();
            assert!(!text.contains("42") && !text.contains("words") && !text.contains("s3cret"), "{text}");
        }
        assert_eq!(Token::read(&json!("")), Ok(None));
    }
}
