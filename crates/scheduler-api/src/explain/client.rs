//! Asks a process what only it knows, once and within a short time.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use berth_core::text::escape_line;
use berth_http::client;
use berth_telemetry::config::Token;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use tokio::time::timeout;

use super::{LeaderAnswer, Subject};

/// From connecting to the last byte of the answer.
const DEADLINE: Duration = Duration::from_secs(2);
/// Bytes of an answer: several times what the server sends at most.
const MOST: usize = 4 << 20;
/// Characters of a refusal.
const SHOWN: usize = 300;

/// Why there is no answer. The texts go on after "because".
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error("{0:?} is not the URL of an operator")]
    Url(String),
    #[error("the operator at {url} cannot be reached ({why})")]
    Unreachable { url: String, why: String },
    #[error("the operator at {url} did not answer within {}s", DEADLINE.as_secs())]
    Slow { url: String },
    /// No token was shown.
    #[error("the operator at {url} wants a token")]
    NoToken { url: String },
    #[error(
        "the operator at {url} does not accept the token of the kubeconfig; renew it, for example with kubectl create token"
    )]
    WrongToken { url: String },
    #[error("the operator at {url} answered with {status} ({text})")]
    Refused { url: String, status: u16, text: String },
    #[error("the answer of the operator at {url} cannot be read ({why})")]
    Unreadable { url: String, why: String },
}

/// Asks the process at this URL, for example `http://10.0.0.7:8080`.
pub async fn ask(url: &str, subject: &Subject, token: Option<&Token>) -> Result<LeaderAnswer, ExplainError> {
    let request = request(url, subject, token)?;
    let slow = |_| ExplainError::Slow { url: url.to_owned() };
    let (status, body) = timeout(DEADLINE, exchange(url, request)).await.map_err(slow)??;
    let url = url.to_owned();
    match status {
        StatusCode::OK => serde_json::from_slice(&body)
            .map_err(|error| ExplainError::Unreadable { url, why: format!("{error}; is it of another version?") }),
        StatusCode::UNAUTHORIZED if token.is_some() => Err(ExplainError::WrongToken { url }),
        StatusCode::UNAUTHORIZED => Err(ExplainError::NoToken { url }),
        status => {
            let text = escape_line(String::from_utf8_lossy(&body).trim_end(), SHOWN);
            Err(ExplainError::Refused { url, status: status.as_u16(), text })
        }
    }
}

fn request(url: &str, subject: &Subject, token: Option<&Token>) -> Result<RequestBuilder, ExplainError> {
    let wrong = || ExplainError::Url(url.to_owned());
    let mut path = Url::parse(url).map_err(|_| wrong())?;
    path.path_segments_mut().map_err(|()| wrong())?.pop_if_empty().extend(subject.path());
    let settings = || Client::builder().redirect(Policy::none()).no_proxy();
    let unusable = |error| ExplainError::Unreachable { url: url.to_owned(), why: client::line(error) };
    let request = client::build(settings).map_err(unusable)?.get(path);
    Ok(match token {
        Some(token) => request.header(AUTHORIZATION, format!("Bearer {}", token.reveal())),
        None => request,
    })
}

async fn exchange(url: &str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), ExplainError> {
    let url = url.to_owned();
    let mut answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return Err(ExplainError::Unreachable { url, why: client::line(error) }),
    };
    let mut body = Vec::new();
    match client::first_bytes(&mut answer, MOST, &mut body).await {
        Ok(true) => Ok((answer.status(), body)),
        Ok(false) => Err(ExplainError::Unreadable { url, why: format!("it is longer than {MOST} bytes") }),
        Err(error) => Err(ExplainError::Unreadable { url, why: client::line(error) }),
    }
}
