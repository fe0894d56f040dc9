//! The list of projects of the double of Keystone, in pages.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Keystone, Shared, record};

/// The projects, and how they are listed.
#[derive(Default)]
pub(super) struct Projects {
    all: Vec<(String, String)>,
    /// Projects of a page; 0 is all.
    page: usize,
    /// The link to the next page, instead of the right one.
    next: Option<String>,
    content_type: Option<String>,
}

impl Keystone {
    /// From now on the token has this service of the catalog as well.
    pub fn add_service(&self, service: &str, url: &str) {
        self.state.lock().services.insert(service.to_owned(), url.to_owned());
    }

    /// The IDs of the projects and their domains.
    pub fn set_projects(&self, projects: &[(&str, &str)]) {
        let owned = |(id, domain): &(&str, &str)| ((*id).to_owned(), (*domain).to_owned());
        self.state.lock().projects.all = projects.iter().map(owned).collect();
    }

    pub fn set_page(&self, projects: usize) {
        self.state.lock().projects.page = projects;
    }

    pub fn set_next_link(&self, next: &str) {
        self.state.lock().projects.next = Some(next.to_owned());
    }

    pub fn set_content_type(&self, content_type: &str) {
        self.state.lock().projects.content_type = Some(content_type.to_owned());
    }
}

pub(super) async fn list_projects(
    State(state): State<Shared>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let asked = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    if let Some(response) = record(&state, format!("GET /v3/projects{asked}")).await {
        return response;
    }
    let known = state.lock();
    if !known.has_token(&headers) {
        return known.refuse();
    }
    let Projects { all, page, next, content_type } = &known.projects;
    if all.is_empty() {
        return StatusCode::NO_CONTENT.into_response();
    }
    let marker = query.as_ref().and_then(|query| query.strip_prefix("marker="));
    let from = marker.map_or(0, |marker| all.iter().position(|(id, _)| id == marker).map_or(0, |place| place + 1));
    let size = if *page == 0 { all.len() } else { *page };
    let shown: Vec<Value> = all.iter().skip(from).take(size).map(|(id, domain)| project(id, domain)).collect();
    let last = all.get((from + size).min(all.len()).saturating_sub(1)).map(|(id, _)| id.as_str());
    let right = (from + size < all.len())
        .then(|| format!("http://{}/v3/projects?marker={}", known.address, last.unwrap_or_default()));
    let next = next.clone().or(right);
    let content_type = content_type.clone().unwrap_or_else(|| "application/json; charset=utf-8".to_owned());
    let body = json!({ "projects": shown, "links": { "self": "", "previous": null, "next": next } });
    ([("content-type", content_type)], Json(body).0.to_string()).into_response()
}

fn project(id: &str, domain: &str) -> Value {
    json!({ "id": id, "name": id, "domain_id": domain, "parent_id": domain, "enabled": true })
}
