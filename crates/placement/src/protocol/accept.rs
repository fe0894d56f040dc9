//! Which form of errors a client accepts, and whether it accepts JSON.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The form of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    Html,
    Plain,
}

/// The form of errors for this client.
pub fn form(headers: &HeaderMap) -> Form {
    let ranges = ranges(headers);
    if ranges.is_empty() || takes(&ranges, "application/json") {
        Form::Json
    } else if takes(&ranges, "text/html") {
        Form::Html
    } else {
        Form::Plain
    }
}

/// Whether the client accepts JSON; a client without the header does.
pub fn takes_json(headers: &HeaderMap) -> bool {
    let ranges = ranges(headers);
    ranges.is_empty() || takes(&ranges, "application/json")
}

/// The ranges of the header; none if a part of it is no media range, as in Placement.
fn ranges(headers: &HeaderMap) -> Vec<Range> {
    let values = headers.get_all(ACCEPT).iter().map(|value| value.to_str().unwrap_or("?"));
    let parts = values.flat_map(|value| value.split(',')).map(str::trim).filter(|range| !range.is_empty());
    parts.map(range).collect::<Option<_>>().unwrap_or_default()
}

/// A media range and whether it is wanted at all (`q=0` is not).
struct Range {
    kind: String,
    wanted: bool,
}

fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next()?.to_ascii_lowercase();
    let (family, form) = kind.split_once('/')?;
    if !is_token(family) || !is_token(form) {
        return None;
    }
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f64>().ok())?;
    (0.0..=1.0).contains(&weight).then_some(Range { kind, wanted: weight > 0.0 })
}

fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn takes(ranges: &[Range], kind: &str) -> bool {
    let family = kind.split('/').next().unwrap_or_default();
    let wider = [kind.to_owned(), format!("{family}/*"), "*/*".to_owned()];
    wider.iter().find_map(|wider| ranges.iter().find(|range| range.kind == *wider)).is_some_and(|range| range.wanted)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(accept: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        headers
    }

    #[test]
    fn the_form_follows_accept() {
        assert_eq!(form(&HeaderMap::new()), Form::Json);
        for (accept, expected, json) in [
            ("", Form::Json, true),
            ("*/*", Form::Json, true),
            ("application/json", Form::Json, true),
            ("application/*;q=0.1", Form::Json, true),
            ("text/html", Form::Html, false),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Form::Json, true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9", Form::Html, false),
            ("text/plain", Form::Plain, false),
            ("image/png", Form::Plain, false),
            ("*/*, application/json;q=0", Form::Html, false),
            ("text", Form::Json, true),
            ("text/", Form::Json, true),
            ("text/plain plain", Form::Json, true),
            ("text/html, json", Form::Json, true),
            ("text/html;q=many", Form::Json, true),
            ("text/html;q=2", Form::Json, true),
        ] {
            assert_eq!((form(&headers(accept)), takes_json(&headers(accept))), (expected, json), "{accept}");
        }
    }
}
