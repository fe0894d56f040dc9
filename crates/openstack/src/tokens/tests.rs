//! Checks of tokens against a double of Keystone, and against validators that never answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::keystone::{Keystone, KeystoneFault};
use futures::future::join_all;
use http::{HeaderName, HeaderValue};
use tokio::sync::Semaphore;

use super::*;
use crate::Session;
use crate::session::tests::setting as keystone_setting;

const TTL: Duration = Duration::from_secs(300);
const SECRET: &str = "gAAAAA-token-of-limes";

/// A Keystone that knows one token, checks of it, and their metrics.
struct Setting {
    keystone: Keystone,
    tokens: KeystoneTokens,
    metrics: Metrics,
}

fn checks(validator: impl TokenValidator) -> (KeystoneTokens, Metrics) {
    let metrics = Metrics::new(&BTreeMap::new()).unwrap();
    let counted = TokenMetrics::register(&metrics).unwrap();
    (KeystoneTokens::new(validator, TTL, Arc::new(SystemClock), counted), metrics)
}

async fn setting() -> Setting {
    let (keystone, _, session): (Keystone, _, Session) = keystone_setting().await;
    keystone.issue_token(SECRET, "limes", "p-1", &["cloud_resource_admin"]);
    let (tokens, metrics) = checks(session);
    Setting { keystone, tokens, metrics }
}

fn headers(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static(X_AUTH_TOKEN), HeaderValue::from_str(token).unwrap())])
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn change(tokens: &KeystoneTokens, token: &str) -> Result<Caller, Unknown> {
    tokens.caller(&headers(token), soon()).await
}

async fn read(tokens: &KeystoneTokens, token: &str) -> Result<Caller, Unknown> {
    tokens.reader(&headers(token), soon()).await
}

fn not_now() -> Result<Caller, Unknown> {
    Err(Unknown::Unavailable("the token cannot be validated at the moment".to_owned()))
}

impl Setting {
    fn counts(&self, outcome: &str) -> u64 {
        let series = format!("berth_token_checks_total{{outcome=\"{outcome}\"}} ");
        self.metrics.render().lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).unwrap()
    }

    /// From now on all answers of Keystone are older than the cache keeps them.
    fn age(&self, token: &str) {
        let state = &mut *self.tokens.shared.state.lock();
        let verdict = ValidToken {
            caller: Caller { user: "limes".to_owned(), ..Caller::default() },
            expires_at: jiff::Timestamp::MAX,
        };
        let long_ago = Instant::now().checked_sub(TTL).unwrap();
        state.cache.note(TokenDigest::of(token), &Verdict::Valid(verdict), long_ago, self.tokens.shared.clock.now());
    }
}

#[tokio::test]
async fn a_token_is_validated_once_however_many_show_it() {
    let setting = setting().await;
    let all = join_all((0..50).map(|_| change(&setting.tokens, SECRET))).await;
    let expected = Caller {
        user: "limes".to_owned(),
        user_domain: Some("default".to_owned()),
        project: Some("p-1".to_owned()),
        project_domain: Some("default".to_owned()),
        roles: vec!["cloud_resource_admin".to_owned()],
        of_system: false,
    };
    assert!(all.iter().all(|caller| caller.as_ref() == Ok(&expected)), "{all:?}");
    assert_eq!(change(&setting.tokens, SECRET).await, Ok(expected));
    assert_eq!(setting.keystone.requests(), ["POST /v3/auth/tokens", "GET /v3/auth/tokens"]);
    assert_eq!((setting.counts("validated"), setting.counts("cached")), (50, 1));
    assert!(setting.metrics.render().contains("berth_token_validation_duration_seconds_count 1"));
}

#[tokio::test]
async fn a_token_that_keystone_does_not_know_is_refused_without_asking_again() {
    let setting = setting().await;
    for _ in 0..3 {
        assert_eq!(change(&setting.tokens, "made-up").await, Err(Unknown::Unauthorized));
    }
    assert_eq!((setting.keystone.validations(), setting.counts("unknown")), (1, 3));
}

#[tokio::test]
async fn a_request_without_a_usable_token_is_refused_without_asking() {
    let setting = setting().await;
    let long = "x".repeat(LONGEST_TOKEN + 1);
    for token in ["", "a b", "caf\u{e9}", &long] {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static(X_AUTH_TOKEN),
            HeaderValue::from_bytes(token.as_bytes()).unwrap(),
        )]);
        assert_eq!(setting.tokens.caller(&headers, soon()).await, Err(Unknown::Unauthorized));
    }
    assert_eq!(setting.tokens.reader(&HeaderMap::new(), soon()).await, Err(Unknown::Unauthorized));
    let service =
        HeaderMap::from_iter([(HeaderName::from_static("x-service-token"), HeaderValue::from_static(SECRET))]);
    assert_eq!(setting.tokens.caller(&service, soon()).await, Err(Unknown::Unauthorized), "a token of a service");
    assert_eq!((setting.keystone.requests().len(), setting.counts("missing")), (0, 6));
}

#[tokio::test]
async fn our_own_token_is_renewed_when_it_has_expired() {
    let setting = setting().await;
    change(&setting.tokens, SECRET).await.unwrap();
    setting.keystone.expire_tokens();
    setting.keystone.issue_token("second", "nova", "p-2", &[]);
    assert_eq!(change(&setting.tokens, "second").await.unwrap().user, "nova");
    assert_eq!(setting.keystone.logins(), 2);
}

#[tokio::test]
async fn while_keystone_does_not_answer_known_tokens_may_read_and_nothing_else_goes_on() {
    let setting = setting().await;
    change(&setting.tokens, SECRET).await.unwrap();
    for fault in [KeystoneFault::Status(503), KeystoneFault::Status(404), KeystoneFault::Garbage] {
        setting.age(SECRET);
        setting.keystone.set_fault(Some(fault));
        assert_eq!(read(&setting.tokens, SECRET).await.unwrap().user, "limes", "{fault:?}");
        assert_eq!(change(&setting.tokens, SECRET).await, not_now(), "{fault:?}");
        assert_eq!(read(&setting.tokens, "other").await, not_now(), "{fault:?}");
    }
    assert_eq!((setting.counts("outdated"), setting.counts("unavailable")), (3, 6));
    setting.keystone.set_fault(None);
    assert_eq!(change(&setting.tokens, SECRET).await.unwrap().user, "limes");
    assert_eq!(change(&setting.tokens, "other").await, Err(Unknown::Unauthorized));
}

#[tokio::test]
async fn a_revoked_token_is_refused_as_soon_as_it_is_validated_again() {
    let setting = setting().await;
    change(&setting.tokens, SECRET).await.unwrap();
    setting.keystone.revoke_token(SECRET);
    change(&setting.tokens, SECRET).await.unwrap();
    setting.age(SECRET);
    assert_eq!(read(&setting.tokens, SECRET).await, Err(Unknown::Unauthorized));
    setting.keystone.set_fault(Some(KeystoneFault::Status(503)));
    assert_eq!(read(&setting.tokens, SECRET).await, Err(Unknown::Unauthorized), "it is not valid for reads either");
}

#[tokio::test]
async fn a_token_that_ends_soon_is_not_kept_and_one_without_an_end_is_no_answer() {
    let setting = setting().await;
    setting.keystone.set_end(SECRET, "2001-01-01T00:00:00.000000Z");
    for _ in 0..2 {
        change(&setting.tokens, SECRET).await.unwrap();
    }
    assert_eq!(setting.keystone.validations(), 2, "keystone decides, and its answer is not kept");
    setting.keystone.set_end(SECRET, "soon");
    assert_eq!(change(&setting.tokens, SECRET).await, not_now());
}

#[tokio::test]
async fn no_error_shows_a_token() {
    let (keystone, _, session) = keystone_setting().await;
    let token: SecretString = SECRET.to_owned().into();
    assert_eq!(session.validate(&token).await, Ok(Verdict::Unknown));
    keystone.let_validate(false);
    let error = session.validate(&token).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "keystone does not let our user validate the tokens of others; give it the role service or admin"
    );
    for fault in [KeystoneFault::Status(500), KeystoneFault::Status(404), KeystoneFault::Garbage] {
        keystone.set_fault(Some(fault));
        let error = format!("{:?}", session.validate(&token).await.unwrap_err());
        assert!(!error.contains(SECRET) && !error.contains("broken"), "{error}");
    }
}

/// Counts its validations, and answers as many as it gets permits.
#[derive(Clone)]
struct Slow(Arc<(AtomicUsize, Semaphore)>);

impl Slow {
    fn new() -> Self {
        Self(Arc::new((AtomicUsize::new(0), Semaphore::new(0))))
    }
}

impl TokenValidator for Slow {
    fn validate<'a>(&'a self, _: &'a SecretString) -> BoxFuture<'a, Result<Verdict, OpenStackError>> {
        async {
            self.0.0.fetch_add(1, Ordering::SeqCst);
            let _permit = self.0.1.acquire().await;
            Ok(Verdict::Unknown)
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_64_tokens_are_validated_at_a_time_for_at_most_5_seconds() {
    let slow = Slow::new();
    let (tokens, _) = checks(slow.clone());
    let started = Instant::now();
    let names: Vec<String> = (0..70).map(|number| format!("t{number}")).collect();
    let all = join_all(names.iter().map(|name| change(&tokens, name))).await;
    let busy = Err(Unknown::Unavailable("too many tokens are validated at the moment".to_owned()));
    assert_eq!(all.iter().filter(|result| **result == busy).count(), 6);
    assert_eq!(all.iter().filter(|result| **result == not_now()).count(), 64);
    assert_eq!((slow.0.0.load(Ordering::SeqCst), started.elapsed()), (64, VALIDATION));
    slow.0.1.add_permits(1);
    assert_eq!(change(&tokens, "t69").await, Err(Unknown::Unauthorized), "the places are free again");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_or_waits_no_longer_does_not_end_a_validation() {
    let slow = Slow::new();
    let (tokens, _) = checks(slow.clone());
    let headers = headers("t");
    let until = Instant::now() + Duration::from_secs(1);
    assert_eq!(tokens.caller(&headers, until).await, not_now());
    let gone = timeout(Duration::from_secs(1), change(&tokens, "t")).await;
    assert!(gone.is_err());
    slow.0.1.add_permits(1);
    assert_eq!(change(&tokens, "t").await, Err(Unknown::Unauthorized));
    assert_eq!(slow.0.0.load(Ordering::SeqCst), 1);
}

/// Panics.
struct Broken;

impl TokenValidator for Broken {
    fn validate<'a>(&'a self, _: &'a SecretString) -> BoxFuture<'a, Result<Verdict, OpenStackError>> {
        panic!("a defect")
    }
}

#[tokio::test]
async fn a_defect_is_no_answer_and_keeps_no_place() {
    let (tokens, _) = checks(Broken);
    for _ in 0..2 * decision::MOST_UNDER_WAY {
        assert_eq!(change(&tokens, "t").await, not_now());
    }
    assert!(tokens.shared.state.lock().under_way.is_empty());
}
