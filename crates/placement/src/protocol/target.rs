//! Paths and query strings. It decides how they are decoded; which paths there are is in [`crate::route`], what a query means is
//! up to the routes.

use super::problem::Problem;

/// Percent-decodes; what is no escape stays.
fn decode(text: &str, plus: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let escape = if byte == b'%' { hex(ahead.next()).zip(hex(ahead.next())) } else { None };
        match escape {
            Some((high, low)) => {
                out.push((high << 4) | low);
                bytes = ahead;
            }
            None if plus && byte == b'+' => out.push(b' '),
            None => out.push(byte),
        }
    }
    out
}

fn hex(byte: Option<u8>) -> Option<u8> {
    char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// One item of a path; `None` if it is no text.
pub fn path_item(raw: &str) -> Option<String> {
    String::from_utf8(decode(raw, false)).ok().filter(|item| !item.contains('\0'))
}

/// The parameters of a query in the order in which they were sent (document 51 section 1.7).
pub fn parameters(query: &str) -> Result<Vec<(String, String)>, Problem> {
    query.split('&').filter(|pair| !pair.is_empty()).map(parameter).collect()
}

fn parameter(pair: &str) -> Result<(String, String), Problem> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let text = |raw: &str| {
        let text = String::from_utf8(decode(raw, true)).map_err(|error| error.utf8_error().to_string())?;
        if text.contains('\0') { Err("a value contains the character U+0000".to_owned()) } else { Ok(text) }
    };
    let both = text(name).and_then(|name| Ok((name, text(value)?)));
    both.map_err(|cause| Problem::invalid(format!("Invalid query string parameters: {cause}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_decoded_in_order() {
        let pairs = parameters("a=1+2&&b=%c3%a9%3D&a&c=%zz%4").unwrap();
        let expected = [("a", "1 2"), ("b", "é="), ("a", ""), ("c", "%zz%4")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(path_item("a+b%20c").unwrap(), "a+b c");
    }

    #[test]
    fn document_51_section_1_7_queries_must_be_utf_8() {
        for bad in ["a=%ff", "%80=a", "a=%00"] {
            let told = parameters(bad).unwrap_err();
            assert!(told.text.starts_with("Invalid query string parameters: "), "{told:?}");
        }
        assert_eq!(path_item("%ff"), None);
        assert_eq!(path_item("a%00"), None);
    }

    proptest! {
        #[test]
        fn no_query_makes_it_panic(query in "\\PC{0,60}", escapes in "(%[0-9a-f]{0,2}){0,20}") {
            let _ = parameters(&query);
            let _ = parameters(&escapes);
        }
    }
}
