//! Logs in to Keystone as the process would.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::timeout;

use super::fact::{Fact, Login, LoginOutcome};
use crate::wiring::PlannedSession;

/// Two Secrets, the discovery and the login, each of which has a deadline of its own.
const LOGIN: Duration = Duration::from_secs(30);

pub(super) async fn try_logins(sessions: Vec<PlannedSession>) -> Vec<Fact> {
    join_all(sessions.into_iter().map(try_login)).await
}

async fn try_login(PlannedSession { purpose, secrets, session }: PlannedSession) -> Fact {
    let outcome = match session {
        None => LoginOutcome::NoCredentials,
        Some(session) => match timeout(LOGIN, session.log_in()).await {
            Ok(Ok(())) => LoginOutcome::Succeeded,
            Ok(Err(error)) => LoginOutcome::Failed(error),
            Err(_) => LoginOutcome::Silent { seconds: LOGIN.as_secs() },
        },
    };
    Fact::Login(Login { purpose, secrets, outcome })
}
