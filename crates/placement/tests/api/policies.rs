//! The policies over HTTP: which role may do what.

use berth_placement::policy;

use crate::support::{Server, UNDEFINED};

#[tokio::test]
async fn readers_see_the_usages_of_their_own_project() {
    let server = Server::with(|api| api, policy::defaults(true));
    let reader = [("x-auth-token", "user"), ("x-roles", "reader"), ("x-project-id", "p1")];
    assert_eq!(server.ask_with("GET /usages?project_id=p1", "", &reader).await.status, 200);
    let other = server.ask_with("GET /usages?project_id=p2", "", &reader).await;
    other.is(403, UNDEFINED, "Policy does not allow placement:usages to be performed.");
    assert_eq!(server.ask_with("GET /usages", "", &reader).await.status, 403, "policy before query");
    assert_eq!(server.ask_with("GET /traits", "", &reader).await.status, 403);
    let system = [("x-auth-token", "admin"), ("openstack-system-scope", "all")];
    let reported = server.ask_with("GET /traits", "", &system).await;
    reported.is(403, UNDEFINED, "\n\n placement:traits:list  ");
}

#[tokio::test]
async fn reshaper_is_for_services_only() {
    let new = Server::with(|api| api, policy::defaults(true));
    assert_eq!(new.ask("POST /reshaper", "{}").await.status, 403);
    let service = [("x-auth-token", "nova"), ("x-roles", "service")];
    assert_eq!(new.ask_with("POST /reshaper", "{}", &service).await.status, 400);
    assert_eq!(Server::new().ask("POST /reshaper", "{}").await.status, 400, "the old defaults let admin do it");
}

#[tokio::test]
async fn a_policy_file_may_open_everything() {
    let open = policy::defaults(false).with_file("'placement:traits:list': '@'").unwrap();
    let server = Server::with(|api| api, open);
    let user = [("x-auth-token", "user")];
    assert_eq!(server.ask_with("GET /traits", "", &user).await.status, 200);
    assert_eq!(server.ask_with("GET /traits/HW_NUMA_ROOT", "", &user).await.status, 403);
}
