//! Decodes paths and query strings.

use percent_encoding::percent_decode_str;

use super::api_error::ApiError;

/// One item of a path; `None` if it is not UTF-8.
pub fn path_item(raw: &str) -> Option<String> {
    let item = percent_decode_str(raw).decode_utf8().ok()?;
    (!item.contains('\0')).then(|| item.into_owned())
}

/// The parameters of a query in the order in which they were sent.
pub fn parameters(query: &str) -> Result<Vec<(String, String)>, ApiError> {
    query.split('&').filter(|pair| !pair.is_empty()).map(parameter).collect()
}

fn parameter(pair: &str) -> Result<(String, String), ApiError> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let text = |raw: &str| {
        let spaced = raw.replace('+', " ");
        let text = percent_decode_str(&spaced).decode_utf8().map_err(|error| error.to_string())?;
        if text.contains('\0') {
            Err("a value contains the character U+0000".to_owned())
        } else {
            Ok(text.into_owned())
        }
    };
    let both = text(name).and_then(|name| Ok((name, text(value)?)));
    both.map_err(|cause| ApiError::invalid(format!("Invalid query string parameters: {cause}")))
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
    fn queries_must_be_utf_8() {
        for bad in ["a=%ff", "%80=a", "a=%00"] {
            let reported = parameters(bad).unwrap_err();
            assert!(reported.text.starts_with("Invalid query string parameters: "), "{reported:?}");
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
