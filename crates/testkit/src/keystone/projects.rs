//! The list of projects of the double of Keystone, in pages.

use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// The projects, and how they are listed.
#[derive(Clone, Debug, Default)]
pub struct Projects {
    /// Their IDs and domains.
    pub all: Vec<(String, String)>,
    /// Projects of a page; 0 is all.
    pub page: usize,
    /// The link to the next page, instead of the right one.
    pub next: Option<String>,
    pub content_type: Option<String>,
}

impl Projects {
    /// The IDs of the projects and their domains, on one page.
    pub fn new(projects: &[(&str, &str)]) -> Self {
        let owned = |(id, domain): &(&str, &str)| ((*id).to_owned(), (*domain).to_owned());
        Self { all: projects.iter().map(owned).collect(), ..Self::default() }
    }

    pub(super) fn answer(&self, address: SocketAddr, query: Option<&str>) -> Response {
        let Self { all, page, next, content_type } = self;
        if all.is_empty() {
            return StatusCode::NO_CONTENT.into_response();
        }
        let marker = query.and_then(|query| query.strip_prefix("marker="));
        let from = marker.map_or(0, |marker| all.iter().position(|(id, _)| id == marker).map_or(0, |place| place + 1));
        let size = if *page == 0 { all.len() } else { *page };
        let shown: Vec<Value> = all.iter().skip(from).take(size).map(|(id, domain)| project(id, domain)).collect();
        let last = all.get((from + size).min(all.len()).saturating_sub(1)).map(|(id, _)| id.as_str());
        let right = (from + size < all.len())
            .then(|| format!("http://{address}/v3/projects?marker={}", last.unwrap_or_default()));
        let next = next.clone().or(right);
        let content_type = content_type.clone().unwrap_or_else(|| "application/json; charset=utf-8".to_owned());
        let body = json!({ "projects": shown, "links": { "self": "", "previous": null, "next": next } });
        ([("content-type", content_type)], body.to_string()).into_response()
    }
}

fn project(id: &str, domain: &str) -> Value {
    json!({ "id": id, "name": id, "domain_id": domain, "parent_id": domain, "enabled": true })
}
