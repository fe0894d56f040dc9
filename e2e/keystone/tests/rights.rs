//! Which roles the user of Berth needs in Keystone, as docs/limes.md says.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use berth_keystone::{Keystone, Login, Scope, Settings, seed};
use reqwest::Method;

const PAGE: &str = include_str!("../../../docs/limes.md");
/// The rules that let the role `service` do all that Berth does.
const POLICY: &str = r#""identity:get_domain": "rule:admin_required or role:service"
"identity:list_projects": "rule:admin_required or role:service"
"#;

/// Whether a user with this role may validate the token of another, read another domain, and list all projects.
async fn rights(keystone: &Keystone, role: &str) -> [bool; 3] {
    let scope = Scope::Project { name: seed::PROJECT, domain: seed::DOMAIN };
    let login = Login { user: role, user_domain: seed::DOMAIN, password: seed::PASSWORD, scope };
    let token = keystone.token(&login).await.unwrap();
    let other = keystone.token(&seed::administrator()).await.unwrap();
    let corp = keystone.domain(seed::CUSTOMER_DOMAIN).unwrap();
    let mut rights = Vec::new();
    for path in ["/auth/tokens", &format!("/domains/{corp}"), "/projects"] {
        let headers = [("x-auth-token", token.as_str()), ("x-subject-token", &other)];
        let answer = keystone.api().send(&Method::GET, path, &headers, None).await.unwrap();
        assert!([200, 403].contains(&answer.status), "{path}: {}", answer.body);
        rights.push(answer.status == 200);
    }
    rights.try_into().unwrap()
}

#[tokio::test]
async fn by_the_rules_of_keystone_services_validate_tokens_and_administrators_do_everything() {
    let keystone = Keystone::shared().await.unwrap();
    for role in seed::ROLES {
        let expected = match role {
            "admin" => [true; 3],
            "service" => [true, false, false],
            _ => [false; 3],
        };
        assert_eq!(rights(&keystone, role).await, expected, "{role}");
    }
}

#[tokio::test]
async fn with_the_policy_of_the_document_the_role_service_is_enough() {
    for rule in POLICY.lines() {
        assert!(PAGE.contains(rule), "docs/limes.md lacks {rule}");
    }
    let keystone = Keystone::start(&Settings { policy: POLICY, ..Settings::default() }).await.unwrap();
    assert_eq!(rights(&keystone, "service").await, [true; 3]);
    assert_eq!(rights(&keystone, "reader").await, [false; 3]);
}
