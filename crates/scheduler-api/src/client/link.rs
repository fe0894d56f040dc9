//! One call to an external scheduler: a body there, hosts back (document 22 sections 7.2 and 7.3). It decides how long and
//! how much is waited for, and what is tried again; what is asked, and what the hosts are for, is decided by `external`.

use std::time::Duration;

use axum::body::Bytes;
use berth_core::HostName;
use berth_telemetry::config::Token;
use reqwest::{
    Client, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect::Policy,
};
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use crate::{web, wire};

/// From connecting to the last byte of the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 10;
/// Bytes of an answer. Ten thousand hosts with names of 100 characters take a quarter of it.
const MOST: usize = 4 << 20;
/// Bytes of the answer that are told when it is an error.
const TOLD: usize = 1024;

/// The way to one scheduler.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    url: String,
    patience: Duration,
    /// Sensitive: neither shown nor logged.
    authorization: Option<HeaderValue>,
}

impl Link {
    pub(super) fn new(url: &str, user_agent: Option<&str>, patience: Duration) -> Result<Self, Failure> {
        let settings = || {
            let builder = Client::builder().redirect(Policy::limited(REDIRECTS));
            match user_agent {
                Some(agent) => builder.user_agent(agent),
                None => builder,
            }
        };
        let client = web::client(settings).map_err(|error| Failure::Create(web::line(error)))?;
        Ok(Self { client, url: url.to_owned(), patience, authorization: None })
    }

    pub(super) fn with_token(self, token: Option<&Token>) -> Result<Self, Failure> {
        let value = token.map(|token| HeaderValue::try_from(format!("Bearer {}", token.reveal()))).transpose();
        let mut authorization = value.map_err(|error| Failure::Create(error.to_string()))?;
        if let Some(value) = &mut authorization {
            value.set_sensitive(true);
        }
        Ok(Self { authorization, ..self })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks for hosts. When the call changes nothing there, a connection that fails is tried once more.
    pub(super) async fn ask(&self, body: Bytes, changes_nothing: bool) -> Result<Vec<HostName>, Failure> {
        let deadline = Instant::now() + self.patience;
        let sending = timeout_at(deadline, self.send(&body, changes_nothing));
        let answer = sending.await.unwrap_or_else(|_| Err(Failure::Send(self.no_answer("no answer"))))?;
        if answer.status() == StatusCode::OK {
            self.hosts(answer, deadline).await
        } else {
            Err(refused(answer, deadline).await)
        }
    }

    async fn send(&self, body: &Bytes, again: bool) -> Result<Response, Failure> {
        let answer = match self.send_once(body).await? {
            Err(error) if again && is_of_the_connection(&error) => self.send_once(body).await?,
            answer => answer,
        };
        answer.map_err(|error| {
            if error.is_builder() { Failure::Create(web::line(error)) } else { Failure::Send(web::line(error)) }
        })
    }

    async fn send_once(&self, body: &Bytes) -> Result<reqwest::Result<Response>, Failure> {
        let mut request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.build().map_err(|error| Failure::Create(web::line(error)))?;
        Ok(self.client.execute(request).await)
    }

    async fn hosts(&self, mut answer: Response, deadline: Instant) -> Result<Vec<HostName>, Failure> {
        let mut body = Vec::new();
        let whole = timeout_at(deadline, web::first_bytes(&mut answer, MOST, &mut body)).await;
        let whole = match whole {
            Ok(whole) => whole.map_err(|error| Failure::Decode(web::line(error)))?,
            Err(_) => return Err(Failure::Decode(self.no_answer("the answer did not end"))),
        };
        wire::decode_answer(&body).map_err(|error| {
            Failure::Decode(if whole { error } else { format!("the answer is longer than {MOST} bytes") })
        })
    }

    fn no_answer(&self, what: &str) -> String {
        format!("{what} within {} s; check that the scheduler at schedulerURL is well", self.patience.as_secs_f32())
    }
}

/// Nothing was answered, for a reason that may be gone at the next try: not a redirect that leads nowhere.
fn is_of_the_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_request() && !error.is_timeout()
}

async fn refused(mut answer: Response, deadline: Instant) -> Failure {
    let (code, mut body) = (answer.status().as_u16(), Vec::new());
    let read = timeout_at(deadline, web::first_bytes(&mut answer, TOLD, &mut body)).await;
    let readable = matches!(read, Ok(Ok(_)));
    // The texts of servers end with a line break, and this one goes on in a condition.
    Failure::Status { code, body: readable.then(|| String::from_utf8_lossy(&body).trim_end().to_owned()) }
}
