//! Finds out who calls, and whether they may, before anything else of a request is read.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use berth_http::Peer;
use berth_openstack::authentication::{Authentication, Caller, Unknown};
use berth_openstack::policy::{Policies, Target};
use tokio::time::Instant;
use tracing::debug;

use super::endpoint::Endpoint;
use super::refusal::Refusal;
use super::{policies, project};

/// How long a request waits until its caller is known. Checks have deadlines of their own, which are shorter.
const WAIT: Duration = Duration::from_secs(10);

/// How callers are known, and what they may do.
#[derive(Clone)]
pub struct LiquidCallers {
    pub authentication: Arc<dyn Authentication>,
    pub policies: Policies,
}

impl LiquidCallers {
    pub(super) async fn authorize(&self, endpoint: Endpoint, request: &Parts) -> Result<(), Refusal> {
        let caller = self.identify(endpoint, request).await.map_err(|unknown| match unknown {
            Unknown::Unauthorized => Refusal::Unauthorized,
            Unknown::Unavailable(why) => Refusal::UnknownCaller(why),
        })?;
        if self.authentication.proves_callers() {
            Peer::mark_authenticated_in(&request.extensions);
        }
        let project = project::id(request.uri.path());
        let target = Target { project, user: Some(&caller.user) };
        let rule = policies::rule(endpoint);
        let allowed = self.policies.authorize(rule, &caller, &target);
        debug!(rule, user = caller.user, project = caller.project, is_allowed = allowed.is_ok(), "caller identified");
        allowed.map_err(|_| Refusal::Forbidden { rule, user: caller.user, project: caller.project })
    }

    async fn identify(&self, endpoint: Endpoint, request: &Parts) -> Result<Caller, Unknown> {
        let until = Instant::now() + WAIT;
        if endpoint.is_read() {
            self.authentication.reader(&request.headers, until).await
        } else {
            self.authentication.caller(&request.headers, until).await
        }
    }
}
