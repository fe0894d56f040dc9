//! Names of domains against a double of Keystone.

use berth_testkit::keystone::KeystoneFault;
use futures::future::join_all;

use super::*;
use crate::session::tests::setting;

#[tokio::test]
async fn a_name_is_asked_once_however_many_wait_for_it() {
    let (keystone, _, session) = setting().await;
    let names = DomainNames::new(session);
    let all = join_all((0..50).map(|_| names.resolve("d-1"))).await;
    assert!(all.iter().all(|name| name.as_deref() == Ok("corp")), "{all:?}");
    assert_eq!(names.resolve("d-1").await.as_deref(), Ok("corp"));
    assert_eq!(keystone.requests(), ["POST /v3/auth/tokens", "GET /v3/domains/d-1"]);
}

#[tokio::test]
async fn a_failed_lookup_is_not_kept() {
    let (keystone, _, session) = setting().await;
    let names = DomainNames::new(session);
    assert!(names.resolve("d-2").await.is_err());
    keystone.add_domain("d-2", "later");
    assert_eq!(names.resolve("d-2").await.as_deref(), Ok("later"));
}

#[tokio::test]
async fn an_id_is_one_segment_of_the_path() {
    let (keystone, _, session) = setting().await;
    let names = DomainNames::new(session);
    assert!(names.resolve("../auth tokens?x=1").await.is_err());
    assert_eq!(keystone.requests()[1], "GET /v3/domains/../auth tokens?x=1", "decoded by the server");
}

#[tokio::test]
async fn an_old_name_is_refreshed_and_stays_while_keystone_does_not_answer() {
    let (keystone, _, session) = setting().await;
    let names = DomainNames::new(session);
    names.resolve("d-1").await.unwrap();
    make_old(&names, "d-1");
    keystone.set_fault(Some(KeystoneFault::Status(503)));
    assert_eq!(names.resolve("d-1").await.as_deref(), Ok("corp"));
    keystone.set_fault(None);
    keystone.add_domain("d-1", "renamed");
    assert_eq!(names.resolve("d-1").await.as_deref(), Ok("renamed"));
}

#[tokio::test]
async fn a_lookup_ends_although_its_callers_are_gone() {
    let (keystone, _, session) = setting().await;
    let names = DomainNames::new(session);
    keystone.set_fault(Some(KeystoneFault::Silence));
    let begun = tokio::time::timeout(Duration::from_millis(50), names.resolve("d-1")).await;
    assert!(begun.is_err());
    keystone.set_fault(None);
    let all = tokio::time::timeout(Duration::from_secs(10), names.resolve("d-2")).await;
    assert!(all.is_ok(), "the login that was given up does not block others for ever");
}

fn make_old(names: &DomainNames, id: &str) {
    let mut known = names.known.lock();
    let entry = known.get_mut(id).and_then(|entry| entry.name.as_mut()).unwrap();
    entry.1 = entry.1.checked_sub(REFRESH_AFTER).unwrap();
}
