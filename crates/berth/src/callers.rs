//! Asks the API server of the home cluster about the callers of our listeners.

use std::sync::{Arc, OnceLock};

use berth_cluster::{AccessReviews, AccessVerdict, Cluster};
use berth_http::{AccessAnswer, Authorizer};
use futures::future::BoxFuture;
use tokio::runtime::Handle;

/// What the API server says about callers. Clones ask the same one.
#[derive(Clone)]
pub(crate) struct Callers {
    reviews: Arc<OnceLock<AccessReviews>>,
    /// Connections to the API server belong to this runtime, also those for a listener with a runtime of its own.
    runtime: Handle,
}

impl Callers {
    /// Knows nobody until there is a cluster to ask. To be called within the runtime that asks.
    pub(crate) fn unreached() -> Self {
        Self { reviews: Arc::default(), runtime: Handle::current() }
    }

    /// From now on this cluster is asked.
    pub(crate) fn ask(&self, cluster: &Cluster) {
        // There is one home cluster.
        let _ = self.reviews.set(AccessReviews::new(cluster));
    }
}

impl Authorizer for Callers {
    fn authorize(&self, token: String, path: String) -> BoxFuture<'static, AccessAnswer> {
        let (reviews, runtime) = (self.reviews.clone(), self.runtime.clone());
        Box::pin(async move {
            let asked = runtime.spawn(async move {
                match reviews.get() {
                    Some(reviews) => answer(reviews.review(&token, &path).await),
                    None => AccessAnswer::Unknown("the API server has not been reached yet".to_owned()),
                }
            });
            asked.await.unwrap_or_else(|_| AccessAnswer::Unknown("the process ends".to_owned()))
        })
    }
}

fn answer(verdict: AccessVerdict) -> AccessAnswer {
    match verdict {
        AccessVerdict::Allowed => AccessAnswer::Allowed,
        AccessVerdict::Forbidden => AccessAnswer::Forbidden,
        AccessVerdict::Unauthenticated => AccessAnswer::Unauthenticated,
        AccessVerdict::Unknown(why) => AccessAnswer::Unknown(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn before_the_api_server_is_reached_no_caller_is_allowed() {
        let answer = Callers::unreached().authorize("t".to_owned(), "/metrics".to_owned()).await;
        assert_eq!(answer, AccessAnswer::Unknown("the API server has not been reached yet".to_owned()));
    }
}
