//! Checks the tokens of callers with Keystone, and remembers its answers.

mod answer;
mod cache;
mod decision;
mod metrics;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use berth_telemetry::clock::Clock;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use http::HeaderMap;
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{info, warn};

use crate::OpenStackError;
use crate::authentication::{Authentication, Caller, Unknown};
use cache::{CacheLimits, Known, TokenCache, TokenDigest};
use decision::{NextStep, decide, without_answer};
use metrics::CheckOutcome;

pub use answer::ValidToken;
pub(crate) use answer::is_refusal_of_keystone;
pub use cache::Verdict;
pub use decision::RequestKind;
pub use metrics::TokenMetrics;

/// Tokens that are kept.
const MOST_TOKENS: usize = 10_000;
/// How long a token that Keystone does not know is refused without another question.
const UNKNOWN_LASTS: Duration = Duration::from_secs(10);
/// How long a validated token counts for reads while Keystone does not answer.
const OUTDATED_LASTS: Duration = Duration::from_secs(3600);
/// How long a validation may take, a login of our own included.
const VALIDATION: Duration = Duration::from_secs(5);
/// Bytes of a token: many times the longest one of Keystone.
const LONGEST_TOKEN: usize = 8 * 1024;

const X_AUTH_TOKEN: &str = "x-auth-token";

/// Asks Keystone about tokens.
pub trait TokenValidator: Send + Sync + 'static {
    /// What Keystone says about a token. Errors do not show it.
    fn validate<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Verdict, OpenStackError>>;
}

/// Callers show tokens of Keystone. Clones share what they know.
#[derive(Clone)]
pub struct KeystoneTokens {
    shared: Arc<SharedState>,
}

struct SharedState {
    validator: Box<dyn TokenValidator>,
    clock: Arc<dyn Clock>,
    metrics: TokenMetrics,
    state: Mutex<State>,
}

struct State {
    cache: TokenCache,
    under_way: HashMap<TokenDigest, Validation>,
    /// The last validation had no answer, which is logged once.
    is_away: bool,
}

/// A validation that is under way, which all who wait for it share.
type Validation = Shared<BoxFuture<'static, Outcome>>;

#[derive(Clone)]
enum Outcome {
    Valid(Arc<Caller>),
    Unknown,
    NoAnswer,
}

impl KeystoneTokens {
    /// `valid_for` is how long an answer of Keystone counts.
    pub fn new(
        validator: impl TokenValidator,
        valid_for: Duration,
        clock: Arc<dyn Clock>,
        metrics: TokenMetrics,
    ) -> Self {
        let limits =
            CacheLimits { tokens: MOST_TOKENS, valid: valid_for, unknown: UNKNOWN_LASTS, outdated: OUTDATED_LASTS };
        let state = State { cache: TokenCache::new(limits), under_way: HashMap::new(), is_away: false };
        let validator = Box::new(validator);
        Self { shared: Arc::new(SharedState { validator, clock, metrics, state: Mutex::new(state) }) }
    }

    async fn check(&self, headers: &HeaderMap, kind: RequestKind, until: Instant) -> Result<Caller, Unknown> {
        let (outcome, result) = match token(headers) {
            Some(token) => self.check_token(token, kind, until).await,
            None => (CheckOutcome::Missing, Err(Unknown::Unauthorized)),
        };
        self.shared.metrics.checked(outcome);
        result.map(|caller| Caller::clone(&caller))
    }

    async fn check_token(
        &self,
        token: &str,
        kind: RequestKind,
        until: Instant,
    ) -> (CheckOutcome, Result<Arc<Caller>, Unknown>) {
        let (known, validation) = match self.begin(token) {
            Begun::Accepted(caller) => return (CheckOutcome::Cached, Ok(caller)),
            Begun::Rejected => return (CheckOutcome::Unknown, Err(Unknown::Unauthorized)),
            Begun::Validation(known, validation) => (known, validation),
        };
        let is_busy = validation.is_none();
        let outcome = match validation {
            Some(validation) => timeout_at(until, validation).await.unwrap_or(Outcome::NoAnswer),
            None => Outcome::NoAnswer,
        };
        match outcome {
            Outcome::Valid(caller) => (CheckOutcome::Validated, Ok(caller)),
            Outcome::Unknown => (CheckOutcome::Unknown, Err(Unknown::Unauthorized)),
            Outcome::NoAnswer => match without_answer(known, kind) {
                Some(caller) => (CheckOutcome::Outdated, Ok(caller)),
                None if is_busy => {
                    (CheckOutcome::Busy, Err(unavailable("too many tokens are validated at the moment")))
                }
                None => (CheckOutcome::Unavailable, Err(unavailable("the token cannot be validated at the moment"))),
            },
        }
    }

    /// Decides with what is known, or begins or joins a validation. None is begun when too many are under way.
    fn begin(&self, token: &str) -> Begun {
        let digest = TokenDigest::of(token);
        let mut state = self.shared.state.lock();
        let known = state.cache.find(digest, Instant::now());
        let joined = state.under_way.get(&digest);
        match decide(&known, joined.is_some(), state.under_way.len()) {
            NextStep::Accept(caller) => Begun::Accepted(caller),
            NextStep::Reject => Begun::Rejected,
            NextStep::Join => Begun::Validation(known, joined.cloned()),
            NextStep::GiveUp => Begun::Validation(known, None),
            NextStep::Begin => {
                let validation = spawn_validation(self.shared.clone(), digest, token.to_owned().into());
                state.under_way.insert(digest, validation.clone());
                Begun::Validation(known, Some(validation))
            }
        }
    }
}

enum Begun {
    Accepted(Arc<Caller>),
    Rejected,
    Validation(Known, Option<Validation>),
}

impl Authentication for KeystoneTokens {
    fn caller<'a>(&'a self, headers: &'a HeaderMap, until: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        self.check(headers, RequestKind::Change, until).boxed()
    }

    fn reader<'a>(&'a self, headers: &'a HeaderMap, until: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        self.check(headers, RequestKind::Read, until).boxed()
    }
}

/// The token of a request, if it can be one: it is sent to Keystone as a header.
fn token(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get(X_AUTH_TOKEN)?.to_str().ok()?;
    let is_usable = (1..=LONGEST_TOKEN).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_usable.then_some(token)
}

fn unavailable(text: &str) -> Unknown {
    Unknown::Unavailable(text.to_owned())
}

/// A task of its own, so that it ends even if all who wait for it are gone.
fn spawn_validation(shared: Arc<SharedState>, digest: TokenDigest, token: SecretString) -> Validation {
    let task = tokio::spawn(validate(shared, digest, token));
    task.map(|ended| ended.unwrap_or(Outcome::NoAnswer)).boxed().shared()
}

async fn validate(shared: Arc<SharedState>, digest: TokenDigest, token: SecretString) -> Outcome {
    let _under_way = UnderWay { shared: &shared, digest };
    let started = Instant::now();
    let answer = timeout(VALIDATION, shared.validator.validate(&token)).await;
    shared.metrics.validated(started.elapsed());
    let late = |_| Err(format!("no answer within {} s", VALIDATION.as_secs()));
    let answer = answer.map_or_else(late, |answer| answer.map_err(|error| error.to_string()));
    shared.note(digest, answer)
}

impl SharedState {
    fn note(&self, digest: TokenDigest, answer: Result<Verdict, String>) -> Outcome {
        let mut state = self.state.lock();
        state.report(answer.as_ref().err());
        let Ok(verdict) = answer else { return Outcome::NoAnswer };
        state.cache.note(digest, &verdict, Instant::now(), self.clock.now());
        match verdict {
            Verdict::Valid(valid) => Outcome::Valid(Arc::new(valid.caller)),
            Verdict::Unknown => Outcome::Unknown,
        }
    }
}

impl State {
    /// An outage is logged once.
    fn report(&mut self, error: Option<&String>) {
        match error {
            Some(error) if !self.is_away => {
                warn!(error, "keystone does not validate tokens; callers get 503 until it does");
            }
            None if self.is_away => info!("keystone validates tokens again"),
            _ => {}
        }
        self.is_away = error.is_some();
    }
}

/// Ends the entry of a validation, also if it panics.
struct UnderWay<'a> {
    shared: &'a SharedState,
    digest: TokenDigest,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.shared.state.lock().under_way.remove(&self.digest);
    }
}
