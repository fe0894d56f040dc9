//! Sends a request of Nova to the scheduler API, as a dry run: where a VM of a project with a commitment would start.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::error::Error;
use crate::probe;

const PATH: &str = "/scheduler/nova/external";
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The answer of the scheduler to a request with the option `explain`.
#[derive(Debug, Deserialize)]
pub struct Answer {
    hosts: Vec<String>,
    #[serde(default)]
    filtered: serde_json::Map<String, serde_json::Value>,
}

/// Sends the request in the file. An empty answer is an error: the sample has free capacity.
pub async fn ask(scheduler: SocketAddr, request: &Path) -> Result<Answer, Error> {
    let body = fs::read_to_string(request).map_err(Error::file("read", request))?;
    let failed = |answer: String| Error::Request { path: request.to_owned(), answer };
    let answer = probe::post(scheduler, PATH, &body, ANSWER_WITHIN).await.map_err(failed)?;
    let answer: Answer = serde_json::from_str(&answer).map_err(|error| failed(format!("{error}: {answer}")))?;
    if answer.hosts.is_empty() { Err(failed(answer.to_string())) } else { Ok(answer) }
}

impl std::fmt::Display for Answer {
    /// For example `node104 first, of 4 hosts; filter_correct_az 16, filter_capabilities 4`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.hosts.first() {
            Some(first) => write!(f, "{first} first, of {} hosts", self.hosts.len())?,
            None => write!(f, "no host")?,
        }
        for (number, (filter, count)) in self.filtered.iter().enumerate() {
            write!(f, "{} {filter} {count}", if number == 0 { ";" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line() {
        let read = |text: &str| serde_json::from_str::<Answer>(text).unwrap().to_string();
        let full =
            r#"{"hosts":["b","a"],"filtered":{"filter_correct_az":16,"filter_capabilities":4},"explanation":[]}"#;
        assert_eq!(read(full), "b first, of 2 hosts; filter_capabilities 4, filter_correct_az 16");
        assert_eq!(read(r#"{"hosts":[]}"#), "no host");
    }
}
