//! What Limes has: the projects of Keystone, and the commitments of each.
//!
//! Members that are not needed are not decoded, among them the token of a transfer, and errors never quote a body that was
//! accepted.

mod wire;

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::StatusCode;
use url::{Url, form_urlencoded};

use crate::catalog::Interface;
use crate::session::{Answer, CallBounds, Get, quote};
use crate::{OpenStackError, Session};

pub use wire::{ListedCommitment, Project, decode_commitments, decode_projects};

const BOUNDS: CallBounds = CallBounds { deadline: Duration::from_secs(30), max_answer: 16 << 20 };
/// Pages of projects, each of which has at least one.
const MOST_PAGES: usize = 1000;
const MOST_PROJECTS: usize = 100_000;
/// A server that wants to wait longer is asked again in the next run.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

const BUSY: [StatusCode; 4] = [
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::GATEWAY_TIMEOUT,
];

/// Lists projects and commitments. Limes only answers requests for its public address.
#[derive(Clone)]
pub struct Limes {
    session: Session,
}

impl Limes {
    pub fn new(session: Session) -> Self {
        Self { session }
    }

    /// All projects that the credentials can see.
    pub async fn list_projects(&self) -> Result<Vec<Project>, OpenStackError> {
        let (mut all, mut query, mut seen) = (Vec::new(), None, BTreeSet::new());
        for _ in 0..MOST_PAGES {
            let answer = self.projects_page(query.as_deref()).await?;
            let page = projects_of(&answer)?;
            let is_last = page.projects.is_empty();
            all.extend(page.projects);
            let Some(next) = page.next.filter(|_| !is_last) else { return Ok(all) };
            let next = query_of(&answer, &next)?;
            if !seen.insert(next.clone()) {
                return Err(answer.malformed("links.next leads back to a page that was read already".to_owned()));
            }
            if all.len() > MOST_PROJECTS {
                return Err(answer.malformed(format!("there are more than {MOST_PROJECTS} projects")));
            }
            query = Some(next);
        }
        let url = "projects".to_owned();
        Err(OpenStackError::Malformed { url, cause: format!("there are more than {MOST_PAGES} pages") })
    }

    /// The commitments of a project that are neither superseded nor expired nor deleted in Limes.
    pub async fn list_commitments(&self, project: &Project) -> Result<Vec<ListedCommitment>, OpenStackError> {
        const EXPECTED: &[StatusCode] = &[StatusCode::OK, BUSY[0], BUSY[1], BUSY[2], BUSY[3]];
        let path = ["v1", "domains", &project.domain_id, "projects", &project.id, "commitments"];
        let get = Get {
            service: "resources",
            interface: Some(Interface::Public),
            path: &path,
            query: None,
            subject: None,
            expected: EXPECTED,
            expected_text: "200",
            bounds: BOUNDS,
        };
        let answer = unless_busy(self.session.send(&get).await?)?;
        decode_commitments(&answer.body).map_err(|cause| answer.malformed(cause))
    }

    async fn projects_page(&self, query: Option<&str>) -> Result<Answer, OpenStackError> {
        const EXPECTED: &[StatusCode] =
            &[StatusCode::OK, StatusCode::NO_CONTENT, StatusCode::MULTIPLE_CHOICES, BUSY[0], BUSY[1], BUSY[2], BUSY[3]];
        let get = Get {
            service: "identity",
            interface: Some(Interface::Public),
            path: &["projects"],
            query,
            subject: None,
            expected: EXPECTED,
            expected_text: "200 204 300",
            bounds: BOUNDS,
        };
        unless_busy(self.session.send(&get).await?)
    }
}

fn unless_busy(answer: Answer) -> Result<Answer, OpenStackError> {
    if !BUSY.contains(&answer.status) {
        return Ok(answer);
    }
    let retry_after = answer.retry_after.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
    let (status, body) = (answer.status.as_u16(), quote(&answer.body));
    Err(OpenStackError::Busy { url: answer.url, status, retry_after, body })
}

fn projects_of(answer: &Answer) -> Result<wire::ProjectsPage, OpenStackError> {
    if answer.status == StatusCode::NO_CONTENT {
        return Ok(wire::ProjectsPage::default());
    }
    if !answer.content_type.starts_with("application/json") {
        let found = quote(answer.content_type.as_bytes());
        return Err(answer.malformed(format!("its content type is {found:?}, not application/json")));
    }
    decode_projects(&answer.body).map_err(|cause| answer.malformed(cause))
}

/// The query of the next page. The rest of the link is not followed: it could carry the token to another server.
fn query_of(answer: &Answer, next: &str) -> Result<String, OpenStackError> {
    let parsed = Url::parse(&answer.url).and_then(|url| url.join(next));
    let pairs = parsed.ok().filter(|url| url.query().is_some_and(|query| !query.is_empty()));
    let Some(url) = pairs else { return Err(answer.malformed("links.next has no query".to_owned())) };
    Ok(form_urlencoded::Serializer::new(String::new()).extend_pairs(url.query_pairs()).finish())
}

#[cfg(test)]
mod tests;
