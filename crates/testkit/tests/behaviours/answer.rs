//! The answers of an API server.

use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
    pub text: String,
}

impl Answer {
    pub fn ok(self) -> Value {
        assert!(self.code < 300, "{} {}", self.code, self.text);
        self.body
    }

    /// Checks that it is a refusal with this code and reason; returns the body.
    pub fn refused(self, code: u16, reason: &str) -> Value {
        assert_eq!((self.code, self.body["reason"].as_str()), (code, Some(reason)), "{}", self.text);
        assert_eq!(self.body["code"], code);
        self.body
    }

    /// Checks that the object was refused as invalid, because of these fields.
    pub fn invalid(self, fields: &[&str]) -> Value {
        let body = self.refused(422, "Invalid");
        assert_eq!(causes(&body), fields, "{body}");
        body
    }

    /// A short form of the answer without times and numbers.
    pub fn in_short(&self) -> String {
        match self.body["kind"].as_str() {
            Some("Status") if self.code >= 300 => {
                let details = &self.body["details"];
                let reason = self.body["reason"].as_str().unwrap_or_default();
                format!("{} {reason} {} {} {:?}", self.code, details["group"], details["kind"], causes(&self.body))
            }
            Some(kind) => format!("{} {kind}", self.code),
            None if self.code < 300 => self.code.to_string(),
            None => format!("{} {}", self.code, self.text.trim()),
        }
    }
}

pub fn causes(body: &Value) -> Vec<&str> {
    let causes = body["details"]["causes"].as_array();
    let mut fields: Vec<_> = causes.into_iter().flatten().filter_map(|cause| cause["field"].as_str()).collect();
    fields.sort_unstable();
    fields
}
