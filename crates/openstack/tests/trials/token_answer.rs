//! The property of `token_answer`, for the fuzzer and for a test of `berth-openstack`: an answer of Keystone is refused, or says
//! exactly what a second reader of the same JSON finds.

use berth_openstack::ValidToken;
use berth_openstack::policy::{Check, Policies, SystemTokens, Target};
use serde_json::Value;

const RULE: &str = "liquid:change_commitments";

/// Whether the answer is a valid token.
pub fn token(input: &[u8]) -> bool {
    let Ok(decoded) = ValidToken::decode(input) else { return false };
    // The second reader also refuses invalid text in members that are ignored.
    let Ok(answer) = serde_json::from_slice::<Value>(input) else { return true };
    let token = &answer["token"];
    let caller = &decoded.caller;
    assert_eq!(token["user"]["id"], caller.user.as_str());
    assert!(!caller.user.is_empty());
    assert_eq!(token["project"]["id"].as_str(), caller.project.as_deref());
    assert_eq!(token["user"]["domain"]["id"].as_str(), caller.user_domain.as_deref());
    assert_eq!(token["project"]["domain"]["id"].as_str(), caller.project_domain.as_deref());
    assert_eq!(token["system"]["all"].as_bool().unwrap_or_default(), caller.of_system);
    assert!(!caller.of_system || caller.project.is_none());
    let names = token["roles"].as_array().into_iter().flatten().map(|role| role["name"].as_str().unwrap());
    assert!(names.clone().eq(caller.roles.iter().map(String::as_str)));
    let is_admin = names.clone().any(|name| name.eq_ignore_ascii_case("admin"));
    let rules = [(RULE.to_owned(), Check::Role("admin".to_owned()))];
    let policies = Policies::new(SystemTokens::Allowed, rules);
    assert_eq!(policies.authorize(RULE, caller, &Target::default()).is_ok(), is_admin);
    true
}
