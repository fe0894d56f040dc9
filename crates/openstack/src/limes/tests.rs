//! The lists of projects and of commitments, against doubles of Keystone and Limes.

use berth_testkit::keystone::{Keystone, Projects};
use berth_testkit::limes::{self, LimesFault, TRANSFER_TOKEN};

use super::*;
use crate::session::tests::setting;

async fn stage() -> (Keystone, limes::Limes, Limes) {
    let (keystone, _, session) = setting().await;
    let double = limes::Limes::start().await.unwrap();
    keystone.add_service("resources", &double.url());
    (keystone, double, Limes::new(session))
}

fn project(id: &str, domain: &str) -> Project {
    Project { id: id.to_owned(), domain_id: domain.to_owned() }
}

#[tokio::test]
async fn all_pages_of_projects_are_read() {
    let (keystone, _limes, limes) = stage().await;
    assert_eq!(limes.list_projects().await, Ok(Vec::new()), "an answer 204");
    let projects = Projects::new(&[("p-1", "d-1"), ("p-2", "d-1"), ("p-3", "d-2")]);
    keystone.set_projects(projects.clone());
    let expected = [project("p-1", "d-1"), project("p-2", "d-1"), project("p-3", "d-2")];
    assert_eq!(limes.list_projects().await.unwrap(), expected, "one page");
    keystone.set_projects(Projects { page: 2, ..projects });
    assert_eq!(limes.list_projects().await.unwrap(), expected);
    assert_eq!(keystone.requests().last().unwrap(), "GET /v3/projects?marker=p-2");
}

#[tokio::test]
async fn a_link_never_leads_to_another_server_or_in_a_circle() {
    let (keystone, _limes, limes) = stage().await;
    let projects = Projects { page: 1, ..Projects::new(&[("p-1", "d-1"), ("p-2", "d-1")]) };
    let other = Keystone::start("s3cret").await.unwrap();
    let next = Some(format!("{}/projects?marker=p-1", other.url()));
    keystone.set_projects(Projects { next, ..projects.clone() });
    let error = limes.list_projects().await.unwrap_err().to_string();
    assert!(error.ends_with("links.next leads back to a page that was read already"), "{error}");
    assert_eq!(other.requests(), [""; 0]);
    keystone.set_projects(Projects { next: Some("not a link".to_owned()), ..projects });
    let error = limes.list_projects().await.unwrap_err().to_string();
    assert!(error.ends_with("links.next has no query"), "{error}");
}

#[tokio::test]
async fn a_list_of_projects_that_is_no_json_is_an_error() {
    let (keystone, _limes, limes) = stage().await;
    let content_type = Some("text/html".to_owned());
    keystone.set_projects(Projects { content_type, ..Projects::new(&[("p-1", "d-1")]) });
    let error = limes.list_projects().await.unwrap_err().to_string();
    assert!(error.ends_with(r#"its content type is "text/html", not application/json"#), "{error}");
}

#[tokio::test]
async fn commitments_of_a_project_are_read_and_its_name_is_encoded() {
    let (keystone, double, limes) = stage().await;
    double.set("p/1 ?", vec![limes::commitment("uuid-1", "amber", "az-1", 5)]);
    let read = limes.list_commitments(&project("p/1 ?", "d-1")).await.unwrap();
    assert_eq!(read.iter().map(|one| one.uuid.as_str()).collect::<Vec<_>>(), ["uuid-1"]);
    assert!(!format!("{read:?}").contains(TRANSFER_TOKEN));
    keystone.expire_tokens();
    let error = limes.list_commitments(&project("p-2", "d-1")).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn a_busy_limes_says_when_it_wants_the_next_request() {
    let (_keystone, double, limes) = stage().await;
    for (retry_after, wait) in [(7, 7), (86_400, 60)] {
        double.set_fault("p-1", Some(LimesFault::Busy { times: 1, retry_after }));
        let error = limes.list_commitments(&project("p-1", "d-1")).await.unwrap_err();
        assert_eq!(error.is_busy(), Some(Some(Duration::from_secs(wait))), "{error}");
    }
    double.set_fault("p-1", Some(LimesFault::Status(429)));
    assert_eq!(limes.list_commitments(&project("p-1", "d-1")).await.unwrap_err().is_busy(), Some(None));
    double.set_fault("p-1", Some(LimesFault::Status(500)));
    let error = limes.list_commitments(&project("p-1", "d-1")).await.unwrap_err();
    assert!(error.is_busy().is_none() && !error.is_not_found(), "{error}");
}

#[tokio::test]
async fn half_an_answer_is_an_error_that_quotes_nothing() {
    let (_keystone, double, limes) = stage().await;
    double.set("p-1", vec![limes::commitment("uuid-1", "amber", "az-1", 5)]);
    for fault in [LimesFault::Half, LimesFault::Garbage] {
        double.set_fault("p-1", Some(fault));
        let error = limes.list_commitments(&project("p-1", "d-1")).await.unwrap_err().to_string();
        assert!(error.contains("cannot be read: it ") && !error.contains("uuid"), "{error}");
    }
}

#[tokio::test]
async fn without_an_endpoint_of_limes_the_error_says_so() {
    let (_keystone, _, session) = setting().await;
    let error = Limes::new(session).list_commitments(&project("p-1", "d-1")).await.unwrap_err();
    assert_eq!(error, OpenStackError::NoEndpoint);
}
