//! Row q: the check of a caller's token, which Keystone has validated before or not.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use berth_openstack::authentication::Authentication as _;
use berth_openstack::{
    Credentials, CredentialsSource, KeystoneTokens, OpenStackError, Session, SessionSettings, TokenMetrics,
};
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::keystone::{Keystone, KeystoneFault, USER};
use futures::future::{BoxFuture, try_join_all};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::error::Error;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const PASSWORD: &str = "the-password-of-keystone";
/// As many as the cache holds, and a tenth.
const TOKENS: usize = 10_000;
const FEW: usize = 1000;
/// Those that are shown for the comparison of both, so that their callers' own memory does not differ.
const SHOWN: usize = 100;
const CHECKS: usize = 200_000;
const CACHED_MICROS: f64 = 20.0;
const GROWTH: f64 = 1.2;
/// Requests that show a token which is not validated yet.
const WAITING: usize = 500;
/// So long does Keystone take meanwhile.
const TAKES: Duration = Duration::from_millis(50);
/// Longer than the measurement.
const VALID_FOR: Duration = Duration::from_secs(3600);
/// Fewer than validations may be under way.
const AT_ONCE: usize = 32;
const CHECKED_WITHIN: Duration = Duration::from_secs(30);

/// The credentials of the double.
struct OwnCredentials(BTreeMap<String, Vec<u8>>);

impl CredentialsSource for OwnCredentials {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>> {
        let credentials = Credentials::of_secret(&self.0);
        async move { credentials }.boxed()
    }
}

/// Checks of tokens against a double of Keystone.
struct Scene {
    keystone: Keystone,
    tokens: KeystoneTokens,
}

impl Scene {
    async fn start() -> Result<Self, Error> {
        let keystone = Keystone::start(PASSWORD).await.map_err(Error::system("a double of Keystone"))?;
        let url = keystone.url();
        let secret = [
            ("url", url.as_str()),
            ("availability", "public"),
            ("username", USER),
            ("password", PASSWORD),
            ("projectName", "service"),
            ("userDomainName", "Default"),
            ("projectDomainName", "Default"),
        ];
        let secret = secret.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        let session = Session::new(&SessionSettings::default(), OwnCredentials(secret.into()))?;
        let metrics = TokenMetrics::register(&Metrics::new(&BTreeMap::new())?)?;
        let tokens = KeystoneTokens::new(session, VALID_FOR, Arc::new(SystemClock), metrics);
        Ok(Self { keystone, tokens })
    }

    /// Issues tokens and has each of them validated.
    async fn validated(&self, count: usize) -> Result<Vec<HeaderMap>, Error> {
        let all: Vec<HeaderMap> = (0..count).map(|number| self.issue(&format!("validated-{number}"))).collect();
        stream::iter(&all).map(|headers| self.check(headers)).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        Ok(all)
    }

    /// As long as tokens of Keystone are.
    fn issue(&self, name: &str) -> HeaderMap {
        let token = format!("{name:x<180}");
        self.keystone.issue_token(&token, "limes", "project", &["cloud_resource_admin"]);
        let value = HeaderValue::try_from(token).unwrap_or_else(|_| HeaderValue::from_static("unusable"));
        HeaderMap::from_iter([(HeaderName::from_static("x-auth-token"), value)])
    }

    async fn check(&self, headers: &HeaderMap) -> Result<(), Error> {
        let caller = self.tokens.caller(headers, Instant::now() + CHECKED_WITHIN).await;
        black_box(caller).map(drop).map_err(|error| Error::Answer(format!("{error:?}")))
    }

    /// Shows these tokens in turn.
    async fn cached(&self, headers: &[HeaderMap]) -> Result<Times, Error> {
        let before = self.keystone.validations();
        let mut times = Times::default();
        for headers in headers.iter().cycle().take(CHECKS) {
            let began = Instant::now();
            self.check(headers).await?;
            times.add(began.elapsed());
        }
        match self.keystone.validations() - before {
            0 => Ok(times),
            asked => Err(Error::Scene(format!("tokens in the cache; Keystone was asked about {asked}"))),
        }
    }

    /// How often Keystone is asked about a token that many show at once.
    async fn shared(&self) -> Result<usize, Error> {
        self.keystone.set_fault(Some(KeystoneFault::Slow(TAKES)));
        let (headers, before) = (self.issue("shared"), self.keystone.validations());
        try_join_all((0..WAITING).map(|_| self.check(&headers))).await?;
        self.keystone.set_fault(None);
        Ok(self.keystone.validations() - before)
    }

    /// One token after the other that is not known yet.
    async fn uncached(&self, count: usize) -> Result<Times, Error> {
        let mut times = Times::default();
        for number in 0..count {
            let headers = self.issue(&format!("new-{number}"));
            let began = Instant::now();
            self.check(&headers).await?;
            times.add(began.elapsed());
        }
        Ok(times)
    }
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let (small, large) = (Scene::start().await?, Scene::start().await?);
    let (few, many) = (small.validated(FEW).await?, large.validated(TOKENS).await?);
    let all = large.cached(&many).await?;
    let (few, many) = (small.cached(&few[..SHOWN]).await?, large.cached(&many[..SHOWN]).await?);
    println!("q, all in turn: {all}; {SHOWN} of {FEW}: {few}; {SHOWN} of {TOKENS}: {many}");
    let (asked, uncached) = (small.shared().await?, small.uncached(size.pick(500, 50)).await?);
    println!("q, not cached: {uncached}");
    let what = format!("the check of a token, {TOKENS} tokens in the cache");
    Ok(Row { letter: 'q', what, goals: vec![cached(&all), growth(&few, &many), shared(asked), shown(&uncached)] })
}

fn cached(many: &Times) -> Goal {
    let (half, most) = (micros(many.median()), micros(many.percentile(99)));
    Goal::wanted(
        format!("cached, all in turn: p99 under {CACHED_MICROS} us"),
        format!("p99 {most:.1} us, p50 {half:.1} us"),
        most < CACHED_MICROS,
    )
}

fn growth(few: &Times, many: &Times) -> Goal {
    let [few, many] = [few, many].map(|times| micros(times.median()));
    let times = many / few;
    Goal::wanted(
        format!("cached, {SHOWN} of them in turn: p50 at most {GROWTH} times that with {FEW} tokens in the cache"),
        format!("{times:.2} times ({many:.2} us to {few:.2} us)"),
        times <= GROWTH,
    )
}

fn shared(asked: usize) -> Goal {
    Goal::budget(
        format!("not cached: one call of Keystone for {WAITING} requests at once"),
        asked.to_string(),
        asked == 1,
    )
}

fn shown(uncached: &Times) -> Goal {
    let (half, most) = (micros(uncached.median()), micros(uncached.percentile(99)));
    Goal::new("not cached, with the call of a double of Keystone", format!("p50 {half:.0} us, p99 {most:.0} us"))
}

fn micros(took: Duration) -> f64 {
    took.as_secs_f64() * 1e6
}
