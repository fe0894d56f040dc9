//! When a Keystone begins and ends, and what it contains then.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::sync::Arc;

use berth_keystone::{Error, Keystone, Login, Scope, Settings, seed};

#[tokio::test]
async fn those_who_ask_at_the_same_time_share_one_that_ends_with_the_last_of_them() {
    let (first, second) = tokio::join!(Keystone::shared(), Keystone::shared());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    let api = first.api().clone();
    drop(first);
    let token = second.token(&seed::administrator()).await.unwrap();
    drop(second);
    assert!(matches!(api.revoke(&token).await, Err(Error::Unanswered { .. })));
}

#[tokio::test]
async fn what_is_changed_stays_when_it_is_started_again_and_no_other_has_it() {
    let mut keystone = Keystone::start(&Settings::default()).await.unwrap();
    let scope = Scope::Project { name: seed::PROJECT, domain: seed::DOMAIN };
    let login = Login { user: "new", user_domain: seed::DOMAIN, password: seed::PASSWORD, scope };
    let refused = keystone.token(&login).await.unwrap_err();
    assert!(matches!(refused, Error::Status { status: 401, .. }), "{refused}");
    keystone.add_user("new", &["reader"]).await.unwrap();
    let token = keystone.token(&login).await.unwrap();
    keystone.restart().await.unwrap();
    keystone.api().revoke(&token).await.unwrap();
    let again = keystone.api().revoke(&token).await.unwrap_err();
    assert!(matches!(again, Error::Status { status: 401, .. }), "it is revoked by itself: {again}");

    let other = Keystone::start(&Settings::default()).await.unwrap();
    assert!(other.token(&login).await.is_err(), "each start has the first database");
}
