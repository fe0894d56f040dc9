//! Formats values as Python prints them, because clients match on error texts that quote their values.

use std::fmt::Write as _;

use super::Json;

const MOST_CHARACTERS: usize = 2_000;

pub fn text(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value);
    if let Some((end, _)) = out.char_indices().nth(MOST_CHARACTERS) {
        out.truncate(end);
        out.push_str("...");
    }
    out
}

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

/// The shortest digits that mean this number, with an exponent below 0.0001 and from 1e16 on.
fn real(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..16) => {
            let plain = number.to_string();
            if plain.contains('.') { plain } else { plain + ".0" }
        }
        Ok(exponent) => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
        Err(_) => scientific,
    }
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
        Json::Digits(digits) => out.push_str(digits),
        Json::Real(number) => out.push_str(&real(*number)),
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
    fn values_are_printed_as_in_python() {
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

    /// The output of `repr` in Python 3.
    #[test]
    fn numbers_are_printed_as_in_python() {
        for (json, python) in [
            ("0.0", "0.0"),
            ("-0.0", "-0.0"),
            ("1.50", "1.5"),
            ("1e2", "100.0"),
            ("0.0001", "0.0001"),
            ("0.00012", "0.00012"),
            ("0.00001", "1e-05"),
            ("1.5E-7", "1.5e-07"),
            ("1e15", "1000000000000000.0"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e16", "1e+16"),
            ("-1.25e16", "-1.25e+16"),
            ("3.5e38", "3.5e+38"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("5e-324", "5e-324"),
            ("18446744073709551616", "18446744073709551616"),
            ("-99999999999999999999", "-99999999999999999999"),
            ("1000000000000000000000000000000000000000000", "1000000000000000000000000000000000000000000"),
            (
                "[\"12\\\"3\", 99999999999999999998, 1, 1e2, 123456789012345678901]",
                "['12\"3', 99999999999999999998, 1, 100.0, 123456789012345678901]",
            ),
        ] {
            assert_eq!(text(&read(json.as_bytes()).unwrap()), python, "{json}");
        }
    }

    #[test]
    fn long_values_are_cut() {
        let long = text(&Json::List(vec![Json::Whole(1); 100_000]));
        assert_eq!(long.len(), MOST_CHARACTERS + 3);
        assert!(long.ends_with("..."));
    }
}
