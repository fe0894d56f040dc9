//! Values as Python prints them: clients match on error texts that quote what was sent (document 51 section 1.7). It
//! decides the quoting and how much is printed.

use std::fmt::Write as _;

use super::Json;

/// Longer values are cut.
const MOST_CHARACTERS: usize = 2_000;

/// A value as Python prints it.
pub fn text(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value);
    if let Some((end, _)) = out.char_indices().nth(MOST_CHARACTERS) {
        out.truncate(end);
        out.push_str("...");
    }
    out
}

/// A string in quotes.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for one in text.chars() {
        match one {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if one == quote => out.extend(['\\', one]),
            _ if one.is_control() && u32::from(one) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(one));
            }
            _ => out.push(one),
        }
    }
    out.push(quote);
    out
}

/// Stops once nothing more will be shown.
fn write(out: &mut String, value: &Json) {
    if out.len() > 4 * MOST_CHARACTERS {
        return;
    }
    match value {
        Json::Null => out.push_str("None"),
        Json::Bool(true) => out.push_str("True"),
        Json::Bool(false) => out.push_str("False"),
        Json::Whole(whole) => {
            let _ = write!(out, "{whole}");
        }
        Json::Real(real) => {
            let _ = write!(out, "{real:?}");
        }
        Json::Text(text) => out.push_str(&quoted(text)),
        Json::List(elements) => list(out, elements),
        Json::Object(members) => object(out, members),
    }
}

fn list(out: &mut String, elements: &[Json]) {
    out.push('[');
    for (place, element) in elements.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        write(out, element);
    }
    out.push(']');
}

fn object(out: &mut String, members: &[(String, Json)]) {
    out.push('{');
    for (place, (name, value)) in members.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        out.push_str(&quoted(name));
        out.push_str(": ");
        write(out, value);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    #[test]
    fn values_look_as_in_python() {
        for (json, python) in [
            (r#"{"a": [1, 1.0, null], "b": true}"#, "{'a': [1, 1.0, None], 'b': True}"),
            (r#""it's""#, r#""it's""#),
            (r#""it's \"so\"""#, r#"'it\'s "so"'"#),
            (r#""a\nb\\\u0007é☃""#, r"'a\nb\\\x07é☃'"),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(text(&read(json.as_bytes()).unwrap()), python);
        }
    }

    #[test]
    fn long_values_are_cut() {
        let long = text(&Json::List(vec![Json::Whole(1); 100_000]));
        assert_eq!(long.len(), MOST_CHARACTERS + 3);
        assert!(long.ends_with("..."));
    }
}
