//! Asks the API server who the bearer of a token is and whether they may read a path: a `TokenReview`, then a
//! `SubjectAccessReview`. Verdicts are kept for a moment, so that a client that asks often costs little.

mod cache;
mod verdict;

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use self::cache::VerdictCache;
use crate::answers::describe_status;
use crate::{Cluster, Right, Verb, chain};

pub use verdict::AccessVerdict;

/// For both reviews of a caller together, with the wait for their turn.
const DEADLINE: Duration = Duration::from_secs(5);
/// Callers about whom the API server is asked at the same time. Tokens that nobody knows cost a review each.
const AT_ONCE: usize = 8;
/// Bytes of a token: those of service accounts take one to two thousand.
const LONGEST_TOKEN: usize = 16 * 1024;
/// Bytes of a path.
const LONGEST_PATH: usize = 2 * 1024;

/// Answers for one cluster.
pub struct AccessReviews {
    client: Client,
    cache: Mutex<VerdictCache>,
    turns: Semaphore,
}

impl AccessReviews {
    pub fn new(cluster: &Cluster) -> Self {
        let (cache, turns) = (Mutex::new(VerdictCache::default()), Semaphore::new(AT_ONCE));
        Self { client: cluster.client.clone(), cache, turns }
    }

    /// The rights to ask.
    pub fn rights() -> Vec<Right> {
        let review = |group: &str, plural: &str| Right::resource(group, "v1", plural, &[Verb::Create]).at_home();
        vec![
            review("authentication.k8s.io", "tokenreviews").because("Who reads metrics or asks about objects."),
            review("authorization.k8s.io", "subjectaccessreviews").because("Whether they may."),
        ]
    }

    /// Whether the bearer of the token may `get` the path. Takes a bounded time; without an answer nothing is allowed.
    pub async fn review(&self, token: &str, path: &str) -> AccessVerdict {
        if token.is_empty() || token.len() > LONGEST_TOKEN {
            return AccessVerdict::Unauthenticated;
        }
        if path.len() > LONGEST_PATH {
            return AccessVerdict::Forbidden;
        }
        if let Some(known) = self.cache.lock().get(token, path, Instant::now()) {
            return known;
        }
        let asked = timeout(DEADLINE, self.ask(token, path)).await;
        let verdict = asked.unwrap_or_else(|_| {
            AccessVerdict::Unknown(format!("the API server did not answer within {} s", DEADLINE.as_secs()))
        });
        self.cache.lock().insert(token, path, &verdict, Instant::now());
        verdict
    }

    async fn ask(&self, token: &str, path: &str) -> AccessVerdict {
        let Ok(_turn) = self.turns.acquire().await else {
            return AccessVerdict::Unknown("the process ends".to_owned());
        };
        // Another request of the same caller may have been answered in the meantime.
        if let Some(known) = self.cache.lock().get(token, path, Instant::now()) {
            return known;
        }
        match self.identify(token).await {
            Ok(user) => self.authorize(user, path).await.unwrap_or_else(|verdict| verdict),
            Err(verdict) => verdict,
        }
    }

    async fn identify(&self, token: &str) -> Result<UserInfo, AccessVerdict> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let answer = answered(api.create(&PostParams::default(), &review)).await?;
        verdict::identity(answer.status)
    }

    async fn authorize(&self, user: UserInfo, path: &str) -> Result<AccessVerdict, AccessVerdict> {
        let (path, verb) = (Some(path.to_owned()), Some(Verb::Get.as_str().to_owned()));
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes { path, verb }),
            resource_attributes: None,
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = answered(api.create(&PostParams::default(), &review)).await?;
        Ok(verdict::permission(answer.status.as_ref()))
    }
}

/// The answer of the API server, or that there is none, and why.
async fn answered<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, AccessVerdict> {
    answer.await.map_err(|error| {
        AccessVerdict::Unknown(match error {
            kube::Error::Api(status) => describe_status(&status),
            error => format!("the API server does not answer: {}", chain(&error)),
        })
    })
}

#[cfg(test)]
mod tests;
