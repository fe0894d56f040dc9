//! Tokenizes Rust sources, without comments; a literal is one token.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A word, a sign, or `""` for a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_name(&self) -> bool {
        self.0.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<&str> for Token {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<String> for Token {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

pub fn tokens(text: &str) -> Vec<Token> {
    let mut signs = text.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(sign) = signs.next() {
        match sign {
            '/' if signs.peek() == Some(&'/') => while signs.next().is_some_and(|sign| sign != '\n') {},
            '"' => {
                skip_string(&mut signs);
                tokens.push(Token(String::new()));
            }
            '\'' => tokens.extend(read_quoted(&mut signs)),
            ':' if signs.next_if_eq(&':').is_some() => tokens.push(Token("::".to_owned())),
            sign if is_of_name(sign) => {
                let word = read_word(sign, &mut signs);
                let is_raw = matches!(word.as_str(), "r" | "br") && matches!(signs.peek(), Some('"' | '#'));
                if is_raw && skip_raw_string(&mut signs) {
                    tokens.push(Token(String::new()));
                } else {
                    tokens.push(Token(word));
                }
            }
            sign if sign.is_whitespace() => {}
            sign => tokens.push(Token(sign.to_string())),
        }
    }
    tokens
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn read_word(first: char, signs: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::from(first);
    while let Some(sign) = signs.next_if(|sign| is_of_name(*sign)) {
        word.push(sign);
    }
    word
}

fn skip_string(signs: &mut Peekable<Chars<'_>>) {
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => drop(signs.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// Skips `#"..."#` with any number of `#`; false for a raw identifier.
fn skip_raw_string(signs: &mut Peekable<Chars<'_>>) -> bool {
    let mut count = 0;
    while signs.next_if_eq(&'#').is_some() {
        count += 1;
    }
    if signs.next_if_eq(&'"').is_none() {
        return false;
    }
    while let Some(sign) = signs.next() {
        if sign == '"' && (0..count).all(|_| signs.next_if_eq(&'#').is_some()) {
            break;
        }
    }
    true
}

/// The rest after a single quote: a character, or the name of a lifetime.
fn read_quoted(signs: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let first = signs.next()?;
    if first == '\\' {
        signs.next();
        while signs.next().is_some_and(|sign| sign != '\'') {}
        return Some(Token(String::new()));
    }
    if signs.next_if_eq(&'\'').is_some() {
        return Some(Token(String::new()));
    }
    while signs.next_if(|sign| is_of_name(*sign)).is_some() {}
    None
}
