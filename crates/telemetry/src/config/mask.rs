//! Hides passwords in URLs, wherever a value of the configuration is shown.

use serde_json::Value;

/// Stands for what is secret, also where a text is wanted, so that the whole is still a configuration.
pub(super) const MASK: &str = "********";

/// Parts of the names of query parameters whose values are secret.
const SECRET: [&str; 4] = ["pass", "secret", "token", "key"];

/// The text with the password of each URL, and the values of secret parameters, replaced.
pub fn mask_urls(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        let end = url.find(|sign: char| sign.is_whitespace() || "\"'`<>".contains(sign)).unwrap_or(url.len());
        masked.push_str(before);
        mask_after_scheme(&url[..end], &mut masked);
        rest = &url[end..];
    }
    masked + rest
}

fn mask_after_scheme(url: &str, masked: &mut String) {
    let (address, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let mut shown = address.to_owned();
    query.split_inclusive(['?', '&']).for_each(|parameter| mask_parameter(parameter, &mut shown));
    // A password that is not encoded may have any sign, so all that stands between the first `:` and the last `@` counts as one.
    let end = address.rfind('@').or_else(|| shown.rfind('@'));
    match end.and_then(|end| Some((shown[..end].split_once(':')?.0, &shown[end..]))) {
        Some((user, place)) => masked.extend([user, ":", MASK, place]),
        None => masked.push_str(&shown),
    }
}

/// With the sign that ends it, if any.
fn mask_parameter(parameter: &str, masked: &mut String) {
    let (text, end) = parameter.split_at(parameter.trim_end_matches(['?', '&']).len());
    match text.split_once('=') {
        Some((name, _)) if is_secret(name) => masked.extend([name, "=", MASK, end]),
        _ => masked.push_str(parameter),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// The same for all texts in a value.
pub(super) fn mask_value(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("://") => *text = mask_urls(text),
        Value::Array(items) => items.iter_mut().for_each(mask_value),
        Value::Object(members) => members.values_mut().for_each(mask_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn passwords_and_secret_parameters_are_replaced_and_the_rest_stays() {
        for (text, masked) in [
            ("no URL", "no URL"),
            ("https://host:1/path?zone=a", "https://host:1/path?zone=a"),
            ("postgres://me:p@s:s@host:5432/db", "postgres://me:********@host:5432/db"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("postgres://host/db?sslpassword=x&sslmode=on", "postgres://host/db?sslpassword=********&sslmode=on"),
            ("http://h/?api_key=1&Token=2&tokens", "http://h/?api_key=********&Token=********&tokens"),
            ("\"a://u:p@h\" and 'b://v:q@i'", "\"a://u:********@h\" and 'b://v:********@i'"),
            ("a://u:p?q/r#s@h/x", "a://u:********@h/x"),
            ("a://", "a://"),
        ] {
            assert_eq!(mask_urls(text), masked);
        }
    }

    #[test]
    fn texts_are_masked_at_any_depth() {
        let mut value = json!({ "a": ["x://u:p@h"], "b": { "c": "y://u:p@h" }, "d": 1 });
        mask_value(&mut value);
        assert_eq!(value, json!({ "a": ["x://u:********@h"], "b": { "c": "y://u:********@h" }, "d": 1 }));
    }

    proptest! {
        #[test]
        fn a_password_is_never_shown(password in "[!$%(-;=@-_a-z{-~]{4,12}") {
            let shown = mask_urls(&format!("postgres://berth:{password}@host/db?password={password}"));
            prop_assert!(!shown.contains(&password), "{shown}");
        }
    }
}
