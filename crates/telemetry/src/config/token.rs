//! Shared secrets of the configuration: never shown, and compared in constant time.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use subtle::ConstantTimeEq;

use crate::error::TelemetryError;

/// Bytes that are read of a token file: far more than two tokens take.
const LONGEST_FILE: u64 = 16 * 1024;

/// A bearer token.
#[derive(Clone, Debug)]
pub struct Token(SecretString);

impl Token {
    /// What a value of the configuration means; an empty text means no token. Errors do not show the value.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, String> {
        let text = value.as_str().ok_or("is not a text; write one in quotes")?;
        if text.is_empty() { Ok(None) } else { Self::from_text(text).map(Some) }
    }

    /// A token that was read elsewhere. Errors do not show it.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
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

/// The tokens that callers can show: one, or two during a rotation, so that clients can change to the new one while
/// others still show the former.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    first: Token,
    second: Option<Token>,
}

impl Tokens {
    /// Reads the content of a token file: one token on each line, one or two of them. Errors do not show it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Token::from_text);
        let first = tokens.next().ok_or("has no token; write one on a line of its own")??;
        let second = tokens.next().transpose()?;
        match tokens.next() {
            None => Ok(Self { first, second }),
            Some(_) => Err("has more than two tokens; remove those that no client shows any more".to_owned()),
        }
    }

    /// Reads a token file. Errors do not show its content.
    pub fn read_file(path: &Path) -> Result<Self, TelemetryError> {
        let wrong = |why: String| TelemetryError::TokenFile { path: path.to_owned(), why };
        let mut text = String::new();
        let opened = File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
        match opened {
            Ok(_) => Self::parse(&text).map_err(wrong),
            Err(error) => {
                Err(wrong(format!("cannot be read ({}); check its path, its mode and its owner", error.kind())))
            }
        }
    }

    /// The one that stays after a rotation has begun: the first of the file.
    pub fn first(&self) -> &Token {
        &self.first
    }

    /// Whether a client has sent one of the tokens. Both are compared, so the time does not tell which.
    pub fn have(&self, shown: &[u8]) -> bool {
        let second = self.second.as_ref().is_some_and(|token| token.is(shown));
        self.first.is(shown) | second
    }
}

impl From<Token> for Tokens {
    fn from(token: Token) -> Self {
        Self { first: token, second: None }
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
    fn a_file_has_one_token_or_two_during_a_rotation() {
        let one = Tokens::parse("s3cret\n").unwrap();
        assert!(one.have(b"s3cret") && !one.have(b"") && !one.have(b"s3cret\n") && !one.have(b"n3w"));
        assert_eq!(one, token("s3cret").into());
        let both = Tokens::parse("\n  s3cret \r\nn3w\n\n").unwrap();
        assert!(both.have(b"s3cret") && both.have(b"n3w") && !both.have(b"s3cretn3w") && !both.have(b""));
        assert!(both.first().is(b"s3cret") && !format!("{both:?}").contains("n3w"));
    }

    #[test]
    fn a_file_without_usable_tokens_is_refused_and_not_shown() {
        for (text, expected) in [
            ("", "has no token"),
            (" \n\n", "has no token"),
            ("a1\nb2\nc3\n", "has more than two tokens"),
            ("two words\n", "cannot be sent"),
            ("s3cret\ngeh\u{e9}im\n", "cannot be sent"),
        ] {
            let wrong = Tokens::parse(text).unwrap_err();
            assert!(wrong.contains(expected) && !wrong.contains("s3cret"), "{wrong}");
        }
        let missing = Tokens::read_file(Path::new("/nowhere/tokens")).unwrap_err().to_string();
        assert!(missing.starts_with("the token file /nowhere/tokens cannot be read"), "{missing}");
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
