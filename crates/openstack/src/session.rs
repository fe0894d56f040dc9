//! A session with Keystone: logs in when a token is needed, and sends calls with it.

use std::sync::Arc;
use std::time::Duration;

use berth_http::client;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};
use url::Url;

use crate::OpenStackError;
use crate::catalog::Interface;
use crate::certificate::ClientCertificate;
use crate::credentials::CredentialsSource;
use crate::discovery::{IdentityUrl, choose_version, classify_url};
use crate::login::{Login, decode_catalog, encode_request, refusal};
use crate::tokens::{TokenValidator, ValidToken, Verdict, is_refusal_of_keystone};

/// How long a login, or a call that nothing else is said about, may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// How long a failed login answers for others, so that they do not wait for Keystone one after the other.
const FAILURE_LASTS: Duration = Duration::from_secs(1);
/// Bytes of an answer: a catalog of some hundred services takes less.
const MAX_ANSWER: usize = 1 << 20;
/// Characters of an answer in an error.
const MAX_QUOTED: usize = 200;
/// What a segment of a path keeps as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

const X_AUTH_TOKEN: &str = "x-auth-token";
const X_SUBJECT_TOKEN: &str = "x-subject-token";
const JSON: &str = "application/json";

/// How calls are sent.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    pub user_agent: String,
    pub certificate: Option<ClientCertificate>,
}

/// A session of one process. Clones share it.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    http: Client,
    credentials: Box<dyn CredentialsSource>,
    /// Locked during a login, so that there is one at a time.
    state: Mutex<LoginState>,
}

#[derive(Default)]
struct LoginState {
    current: Option<Arc<LoggedIn>>,
    failed: Option<(Instant, OpenStackError)>,
}

struct LoggedIn {
    login: Login,
    interface: Interface,
}

/// A GET of an endpoint of the catalog.
#[derive(Clone, Copy)]
pub(crate) struct Get<'a> {
    pub(crate) service: &'static str,
    /// `None`: the one that the credentials name.
    pub(crate) interface: Option<Interface>,
    pub(crate) path: &'a [&'a str],
    /// As it stands in the URL.
    pub(crate) query: Option<&'a str>,
    /// The token that the question is about. Keystone may quote it in its answer, which is therefore not quoted in errors.
    pub(crate) subject: Option<&'a SecretString>,
    pub(crate) expected: &'static [StatusCode],
    pub(crate) expected_text: &'static str,
    pub(crate) bounds: CallBounds,
}

/// How long a call may take, and how large its answer may be in bytes.
#[derive(Clone, Copy)]
pub(crate) struct CallBounds {
    pub(crate) deadline: Duration,
    pub(crate) max_answer: usize,
}

/// An answer with a status that was expected.
pub(crate) struct Answer {
    pub(crate) url: String,
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    /// Seconds after which the server wants the next request.
    pub(crate) retry_after: Option<u64>,
    token: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// A request, and what its errors name.
struct Call {
    method: &'static str,
    /// Without user and password.
    url: String,
    expected: &'static [StatusCode],
    expected_text: &'static str,
    bounds: CallBounds,
    quotes_answer: bool,
}

impl Default for CallBounds {
    fn default() -> Self {
        Self { deadline: DEADLINE, max_answer: MAX_ANSWER }
    }
}

impl Answer {
    pub(crate) fn malformed(&self, cause: String) -> OpenStackError {
        OpenStackError::Malformed { url: self.url.clone(), cause }
    }
}

impl Session {
    pub fn new(settings: &SessionSettings, credentials: impl CredentialsSource) -> Result<Self, OpenStackError> {
        let builder = || {
            // A redirection would carry the token to another host.
            let builder = Client::builder().user_agent(&settings.user_agent).redirect(Policy::none());
            let builder = builder.connect_timeout(DEADLINE);
            match &settings.certificate {
                Some(certificate) => certificate.apply_to(builder),
                None => builder,
            }
        };
        let shared = Shared {
            http: client::build(builder).map_err(|error| OpenStackError::Client(client::line(error)))?,
            credentials: Box::new(credentials),
            state: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The token of this session, for calls that others make with it.
    pub async fn token(&self) -> Result<SecretString, OpenStackError> {
        Ok(self.log_in(None).await?.login.token.clone())
    }

    /// The body of an endpoint of the catalog.
    pub(crate) async fn get(&self, service: &'static str, path: &[&str]) -> Result<Vec<u8>, OpenStackError> {
        let (expected, bounds) = (&[StatusCode::OK], CallBounds::default());
        let get =
            Get { service, interface: None, path, query: None, subject: None, expected, expected_text: "200", bounds };
        self.send(&get).await.map(|answer| answer.body)
    }

    /// Sends a GET. When its token was not accepted, it is renewed and the call sent once more.
    pub(crate) async fn send(&self, get: &Get<'_>) -> Result<Answer, OpenStackError> {
        let login = self.log_in(None).await?;
        let first = match self.fetch(&login, get).await {
            Err(error) if error.is_unauthorized() => error,
            other => return other,
        };
        let renewed = self.log_in(Some(&login)).await;
        let renewed =
            renewed.map_err(|second| OpenStackError::Renewal { first: Box::new(first), second: Box::new(second) })?;
        let repeated = self.fetch(&renewed, get).await;
        repeated.map_err(|error| OpenStackError::AfterRenewal(Box::new(error)))
    }

    /// The present login, or a new one if there is none or it is the one that was `rejected`.
    async fn log_in(&self, rejected: Option<&Arc<LoggedIn>>) -> Result<Arc<LoggedIn>, OpenStackError> {
        let mut state = self.shared.state.lock().await;
        let usable = state.current.as_ref().filter(|current| !rejected.is_some_and(|old| Arc::ptr_eq(old, current)));
        if let Some(current) = usable {
            return Ok(current.clone());
        }
        state.current = None;
        if let Some((at, error)) = &state.failed
            && at.elapsed() < FAILURE_LASTS
        {
            return Err(error.clone());
        }
        let result = self.authenticate().await.map(Arc::new);
        state.note(&result);
        result
    }

    async fn authenticate(&self) -> Result<LoggedIn, OpenStackError> {
        let credentials = self.shared.credentials.read().await?;
        let identity = match classify_url(&credentials.url)? {
            IdentityUrl::Version3(url) => url,
            IdentityUrl::Unversioned(url) => self.discover(&url).await?,
        };
        let url = format!("{identity}auth/tokens");
        let body = encode_request(&credentials.method).to_string();
        let request = self.shared.http.post(&url).header(CONTENT_TYPE, JSON).body(body);
        let call = Call::new("POST", &url, &[StatusCode::CREATED, StatusCode::ACCEPTED], "201 202");
        let answer = call.send(request).await.map_err(|error| match &error {
            OpenStackError::Status { status, body, .. } => {
                refusal(*status, body).map_or(error, OpenStackError::Refused)
            }
            _ => error,
        })?;
        let token = answer.token.ok_or_else(|| call.malformed("it has no X-Subject-Token"))?;
        let catalog = decode_catalog(&answer.body).map_err(|error| call.malformed(&error.to_string()))?;
        Ok(LoggedIn { login: Login { token: token.into(), catalog }, interface: credentials.interface })
    }

    async fn discover(&self, url: &str) -> Result<String, OpenStackError> {
        let call = Call::new("GET", url, &[StatusCode::OK, StatusCode::MULTIPLE_CHOICES], "200 300");
        let answer = call.send(self.shared.http.get(url)).await?;
        choose_version(url, &answer.body).map_err(|cause| call.malformed(&cause))
    }

    async fn fetch(&self, login: &LoggedIn, get: &Get<'_>) -> Result<Answer, OpenStackError> {
        let url = get.url(login)?;
        let mut request = self.shared.http.get(&url).header(X_AUTH_TOKEN, login.login.token.expose_secret());
        if let Some(token) = get.subject {
            request = request.header(X_SUBJECT_TOKEN, token.expose_secret());
        }
        let call = Call::new("GET", &url, get.expected, get.expected_text);
        Call { bounds: get.bounds, quotes_answer: get.subject.is_none(), ..call }.send(request).await
    }

    async fn check_token(&self, token: &SecretString) -> Result<Verdict, OpenStackError> {
        let get = Get {
            service: "identity",
            interface: None,
            path: &["auth", "tokens"],
            query: Some("nocatalog"),
            subject: Some(token),
            expected: &[StatusCode::OK, StatusCode::NOT_FOUND],
            expected_text: "200 404",
            bounds: CallBounds::default(),
        };
        let answer = self.send(&get).await.map_err(|error| match error {
            OpenStackError::Status { status: 403, .. } => OpenStackError::MayNotValidate,
            other => other,
        })?;
        match answer.status {
            StatusCode::OK => {
                ValidToken::decode(&answer.body).map(Verdict::Valid).map_err(|cause| answer.malformed(cause))
            }
            _ if is_refusal_of_keystone(&answer.body) => Ok(Verdict::Unknown),
            _ => Err(answer.malformed("404, but not from keystone".to_owned())),
        }
    }
}

impl TokenValidator for Session {
    fn validate<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Verdict, OpenStackError>> {
        self.check_token(token).boxed()
    }
}

impl Get<'_> {
    fn url(&self, login: &LoggedIn) -> Result<String, OpenStackError> {
        let segments: Vec<String> =
            self.path.iter().map(|segment| utf8_percent_encode(segment, SEGMENT).to_string()).collect();
        let interface = self.interface.unwrap_or(login.interface);
        let url = login.login.catalog.endpoint(self.service, interface)? + &segments.join("/");
        Ok(self.query.map_or_else(|| url.clone(), |query| format!("{url}?{query}")))
    }
}

impl LoginState {
    /// Keeps the outcome of a login. An outage is logged once.
    fn note(&mut self, result: &Result<Arc<LoggedIn>, OpenStackError>) {
        match result {
            Ok(login) => {
                self.current = Some(login.clone());
                if self.failed.take().is_some() {
                    info!("login to keystone works again");
                }
            }
            Err(error) => {
                if self.failed.is_none() {
                    warn!(%error, "login to keystone failed; it is tried again when a token is needed");
                }
                self.failed = Some((Instant::now(), error.clone()));
            }
        }
    }
}

impl Call {
    fn new(method: &'static str, url: &str, expected: &'static [StatusCode], expected_text: &'static str) -> Self {
        Self {
            method,
            url: without_user(url),
            expected,
            expected_text,
            bounds: CallBounds::default(),
            quotes_answer: true,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, OpenStackError> {
        let deadline = self.bounds.deadline;
        let answer = timeout(deadline, self.exchange(request.header(ACCEPT, JSON))).await;
        answer.unwrap_or_else(|_| Err(self.unanswered(format!("no answer within {} s", deadline.as_secs()))))
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Answer, OpenStackError> {
        let mut answer = request.send().await.map_err(|error| self.unanswered(client::line(error)))?;
        let mut body = Vec::new();
        let most = self.bounds.max_answer;
        let is_complete = client::first_bytes(&mut answer, most, &mut body).await;
        if !is_complete.map_err(|error| self.unanswered(client::line(error)))? {
            return Err(self.malformed(&format!("it is longer than {most} bytes")));
        }
        if !self.expected.contains(&answer.status()) {
            return Err(OpenStackError::Status {
                method: self.method,
                url: self.url.clone(),
                expected: self.expected_text,
                status: answer.status().as_u16(),
                body: if self.quotes_answer { quote(&body) } else { "(not shown)".to_owned() },
            });
        }
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Answer {
            url: self.url.clone(),
            status: answer.status(),
            content_type: header("content-type").unwrap_or_default(),
            retry_after: header("retry-after").and_then(|seconds| seconds.trim().parse().ok()),
            token: header(X_SUBJECT_TOKEN),
            body,
        })
    }

    fn unanswered(&self, cause: String) -> OpenStackError {
        OpenStackError::Unanswered { url: self.url.clone(), cause }
    }

    fn malformed(&self, cause: &str) -> OpenStackError {
        OpenStackError::Malformed { url: self.url.clone(), cause: cause.to_owned() }
    }
}

fn without_user(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "keystone".to_owned() };
    // Both fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// The beginning of an answer as one line.
pub(crate) fn quote(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.chars().map(|c| if c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c) { ' ' } else { c });
    line.take(MAX_QUOTED).collect::<String>().trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests;
