//! Names of domains: asked once, kept, and refreshed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;
use tracing::debug;

use crate::{OpenStackError, Session};

/// Names that are kept: more domains than any deployment has.
const MAX_NAMES: usize = 10_000;
/// A name that is older is asked for again, because domains can be renamed.
const REFRESH_AFTER: Duration = Duration::from_secs(3600);

type Lookup = Shared<BoxFuture<'static, Result<Arc<str>, OpenStackError>>>;

/// Resolves IDs of domains. Clones share what they know.
#[derive(Clone)]
pub struct DomainNames {
    session: Session,
    known: Arc<Mutex<HashMap<String, KnownDomain>>>,
}

struct KnownDomain {
    name: Option<(Arc<str>, Instant)>,
    /// The lookup under way, which all who wait share.
    lookup: Option<Lookup>,
}

#[derive(Deserialize)]
struct Answer {
    domain: Domain,
}

#[derive(Deserialize)]
struct Domain {
    name: String,
}

impl DomainNames {
    pub fn new(session: Session) -> Self {
        Self { session, known: Arc::default() }
    }

    /// The name of a domain. While Keystone does not answer, a name that is known stays valid.
    pub async fn resolve(&self, id: &str) -> Result<Arc<str>, OpenStackError> {
        let (old, lookup) = match self.begin(id) {
            Ok(name) => return Ok(name),
            Err(begun) => begun,
        };
        let result = lookup.await;
        self.end(id, &result);
        match (result, old) {
            (Err(error), Some(old)) => {
                debug!(domain = id, %error, "name of a domain not refreshed");
                Ok(old)
            }
            (result, _) => result,
        }
    }

    /// The name if it is new enough, or else the lookup with the name that is known.
    fn begin(&self, id: &str) -> Result<Arc<str>, (Option<Arc<str>>, Lookup)> {
        let mut known = self.known.lock();
        if known.len() >= MAX_NAMES && !known.contains_key(id) {
            known.clear();
        }
        let entry = known.entry(id.to_owned()).or_insert(KnownDomain { name: None, lookup: None });
        if let Some((name, since)) = &entry.name
            && since.elapsed() < REFRESH_AFTER
        {
            return Ok(name.clone());
        }
        let lookup = entry.lookup.get_or_insert_with(|| spawn_lookup(self.session.clone(), id.to_owned()));
        Err((entry.name.as_ref().map(|(name, _)| name.clone()), lookup.clone()))
    }

    fn end(&self, id: &str, result: &Result<Arc<str>, OpenStackError>) {
        let mut known = self.known.lock();
        let Some(entry) = known.get_mut(id) else { return };
        entry.lookup = None;
        match (result, &mut entry.name) {
            (Ok(name), _) => entry.name = Some((name.clone(), Instant::now())),
            (Err(_), Some(_)) => {}
            (Err(_), None) => drop(known.remove(id)),
        }
    }
}

/// A task of its own, so that it ends even if all who wait for it are gone.
fn spawn_lookup(session: Session, id: String) -> Lookup {
    let task = tokio::spawn(read_name(session, id.clone()));
    let ended = move |result: Result<_, tokio::task::JoinError>| {
        let unanswered = |error: tokio::task::JoinError| {
            Err(OpenStackError::Unanswered { url: format!("domains/{id}"), cause: error.to_string() })
        };
        result.unwrap_or_else(unanswered)
    };
    task.map(ended).boxed().shared()
}

async fn read_name(session: Session, id: String) -> Result<Arc<str>, OpenStackError> {
    let body = session.get("identity", &["domains", &id]).await?;
    let answer: Answer = serde_json::from_slice(&body)
        .map_err(|error| OpenStackError::Malformed { url: format!("domains/{id}"), cause: error.to_string() })?;
    Ok(answer.domain.name.into())
}

#[cfg(test)]
mod tests;
