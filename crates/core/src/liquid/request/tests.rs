//! Bodies that are read or refused, and which requests require confirmation.

use serde_json::{Value, json};

use super::super::tests::{body, changeset, commitment, decode, request, time};
use super::*;

fn error(body: &str) -> String {
    ChangeRequest::decode(body.as_bytes()).unwrap_err().to_string()
}

fn first(request: &ChangeRequest) -> RequestedCommitment {
    let changes = request.changesets().next().unwrap();
    changes.commitments[0].clone()
}

/// A request with one commitment, one member of which is this.
fn with(member: &str, value: &Value) -> Value {
    let mut change = commitment("uuid-1", None, Some("planned"), 1);
    change[member] = value.clone();
    body(&[("p", "r", changeset((0, 0), &[change]))])
}

#[test]
fn missing_members_are_empty_and_unknown_ones_are_ignored() {
    for text in ["{}", "null", r#"{"unknown": [1, {}]}"#, r#"{"byProject": null, "dryRun": null}"#, "{} trailing"] {
        assert_eq!(ChangeRequest::decode(text.as_bytes()), Ok(ChangeRequest::default()), "{text}");
    }
    let text = r#"{"az": "z", "byProject": {"p": null, "q": {"projectMetadata": null, "byResource": {"r": null}}}}"#;
    let request = ChangeRequest::decode(text.as_bytes()).unwrap();
    assert_eq!(request.by_project.values().map(|project| project.by_resource.len()).collect::<Vec<_>>(), [0, 1]);
    assert!(request.is_empty());
}

#[test]
fn members_of_a_request_are_read() {
    let mut change = commitment("uuid-1", Some("pending"), None, 7);
    change["oldExpiresAt"] = json!("2026-03-03T00:00:00+01:00");
    let request = decode(&body(&[("p", "r", changeset((1, 2), &[change]))]));
    assert_eq!((request.zone.as_str(), request.dry_run, request.info_version), ("eu-x-1a", false, 1_772_439_300));
    assert_eq!(request.by_project["p"].project_metadata.domain.name, "acme");
    let expected = RequestedCommitment {
        uuid: "uuid-1".into(),
        old_status: Some(State::Pending),
        new_status: None,
        amount: 7,
        confirm_by: None,
        expires_at: Some(time("2027-03-03T00:00:00Z")),
        old_expires_at: Some(time("2026-03-02T23:00:00Z")),
    };
    assert_eq!((first(&request), request.len()), (expected, 1));
}

#[test]
fn the_zero_time_is_no_time() {
    for zero in [json!("0001-01-01T00:00:00Z"), json!("0001-01-01T01:00:00+01:00"), Value::Null] {
        assert_eq!(first(&decode(&with("expiresAt", &zero))).expires_at, None, "{zero}");
        assert_eq!(first(&decode(&with("confirmBy", &zero))).confirm_by, None, "{zero}");
    }
    let never_ended = first(&decode(&with("oldExpiresAt", &json!("0001-01-01T00:00:00Z"))));
    assert!(never_ended.old_expires_at.is_some(), "an end that is set for the first time is a prolongation");
}

#[test]
fn dates_beyond_the_range_saturate() {
    let change = first(&decode(&with("expiresAt", &json!("9999-12-31T23:59:59Z"))));
    assert_eq!(change.expires_at, Some(Timestamp::MAX));
}

#[test]
fn a_wrong_member_is_named() {
    for (member, value, reason) in [
        ("amount", json!(-1), "integer `-1`"),
        ("amount", json!(1.5), "floating point `1.5`"),
        ("amount", json!("2"), "string \"2\""),
        ("amount", json!(1e30), "floating point"),
        ("newStatus", json!("done"), "\"done\" is not a status of a commitment"),
        ("oldStatus", json!(""), "\"\" is not a status of a commitment"),
        ("newStatus", json!(1), "integer `1`"),
        ("expiresAt", json!("tomorrow"), "\"tomorrow\" is not an RFC 3339 time"),
        ("confirmBy", json!(0), "integer `0`"),
        ("uuid", json!(["a"]), "sequence"),
    ] {
        let text = error(&with(member, &value).to_string());
        let path = format!("byProject.p.byResource.r.commitments[0].{member}: ");
        assert!(text.starts_with(&path) && text.contains(reason), "{text}");
    }
}

#[test]
fn a_body_that_is_no_request_is_refused_in_one_short_line() {
    for (body, part) in [
        ("", "EOF"),
        ("[]", "invalid type: sequence, expected an object"),
        (r#"{"byProject": {"p": {"projectMetadata": []}}}"#, "byProject.p.projectMetadata: invalid type: sequence"),
        (r#"{"byProject": {"p": {"byResource": {"r": {"commitments": [[]]}}}}}"#, "r.commitments[0]: invalid type"),
        (r#"{"az": 3}"#, "az: invalid type"),
        (r#"{"infoVersion": 9223372036854775808}"#, "infoVersion: "),
        (
            r#"{"byProject": {"p": {"byResource": {"r": {"totalConfirmedAfter": -2}}}}}"#,
            "byResource.r.totalConfirmedAfter",
        ),
        (r#"{"byProject": {"p": {"byResource": []}}}"#, "byProject.p.byResource"),
    ] {
        let text = error(body);
        assert!(text.contains(part), "{text}");
    }
    let long = format!(r#"{{"byProject": {{"{}\n": 3}}}}"#, "x".repeat(10_000));
    assert!(error(&long).len() < 400 && !error(&long).contains('\n'));
}

#[test]
fn commitments_are_known_by_their_uuid_in_lower_case() {
    let change = |uuid| commitment(uuid, None, Some("planned"), 1);
    let request = request(&[("p", "r", changeset((0, 0), &[change("UUID-1"), change("uuid-1"), change("uuid-2")]))]);
    assert_eq!(request.commitment_keys(), ["uuid-1".into(), "uuid-2".into()].into());
}

type Change<'a> = (Option<&'a str>, Option<&'a str>, u64);

/// Of one project and resource, with confirmed and guaranteed totals before and after.
fn requires(totals: [u64; 4], changes: &[Change<'_>]) -> bool {
    let change = |(old, new, amount): &Change<'_>| commitment("uuid-1", *old, *new, *amount);
    let mut changeset = changeset((totals[0], totals[1]), &changes.iter().map(change).collect::<Vec<_>>());
    changeset["totalGuaranteedBefore"] = json!(totals[2]);
    changeset["totalGuaranteedAfter"] = json!(totals[3]);
    request(&[("p", "r", changeset)]).requires_confirmation()
}

const PLANNED: Option<&str> = Some("planned");
const PENDING: Option<&str> = Some("pending");
const GUARANTEED: Option<&str> = Some("guaranteed");
const CONFIRMED: Option<&str> = Some("confirmed");
const SUPERSEDED: Option<&str> = Some("superseded");
const EXPIRED: Option<&str> = Some("expired");

#[test]
fn growth_that_is_confirmed_requires_confirmation() {
    assert!(requires([0, 2, 0, 0], &[(PENDING, CONFIRMED, 2)]));
    assert!(requires([0, 2, 0, 0], &[(None, CONFIRMED, 2)]));
    assert!(requires([0, 0, 0, 2], &[(None, GUARANTEED, 2)]));
    assert!(!requires([0, 0, 0, 0], &[(None, PLANNED, 2)]));
    assert!(!requires([3, 3, 0, 0], &[(None, PENDING, 1)]));
}

#[test]
fn a_split_or_a_merge_requires_none() {
    let split = [(CONFIRMED, SUPERSEDED, 10), (None, CONFIRMED, 7), (None, CONFIRMED, 3)];
    assert!(!requires([50, 50, 0, 0], &split));
    assert!(!requires([10, 10, 0, 0], &[(CONFIRMED, None, 5), (None, CONFIRMED, 5)]));
}

#[test]
fn an_end_requires_none_if_the_totals_match_it() {
    assert!(!requires([10, 0, 0, 0], &[(CONFIRMED, EXPIRED, 10)]));
    assert!(!requires([10, 0, 0, 0], &[(CONFIRMED, None, 10)]));
    assert!(!requires([0, 0, 10, 0], &[(GUARANTEED, None, 10)]));
    assert!(requires([20, 16, 0, 0], &[(CONFIRMED, None, 5)]));
    assert!(requires([0, 0, 20, 16], &[(GUARANTEED, None, 5)]));
}

#[test]
fn a_conversion_or_another_amount_requires_it() {
    assert!(requires([10, 0, 0, 0], &[(CONFIRMED, SUPERSEDED, 10)]), "one half of a conversion");
    assert!(requires([4, 2, 0, 0], &[(CONFIRMED, CONFIRMED, 2)]));
}

#[test]
fn a_guarantee_is_fulfilled_without() {
    assert!(!requires([0, 4, 4, 0], &[(GUARANTEED, CONFIRMED, 4)]));
    assert!(requires([0, 4, 4, 4], &[(GUARANTEED, CONFIRMED, 4)]));
}

#[test]
fn a_prolongation_of_what_is_promised_requires_it() {
    for (status, requires) in [("confirmed", true), ("guaranteed", true), ("pending", false), ("planned", false)] {
        let mut change = commitment("uuid-1", Some(status), Some(status), 10);
        change["oldExpiresAt"] = json!("2026-06-01T00:00:00Z");
        let request = request(&[("p", "r", changeset((10, 10), &[change]))]);
        assert_eq!(request.requires_confirmation(), requires, "{status}");
    }
}

#[test]
fn a_move_of_a_confirmed_commitment_requires_it() {
    let source = changeset((2, 0), &[commitment("uuid-1", CONFIRMED, None, 2)]);
    let target = changeset((0, 2), &[commitment("uuid-1", None, CONFIRMED, 2)]);
    assert!(request(&[("p", "r", source), ("q", "r", target)]).requires_confirmation());
    assert!(!request(&[]).requires_confirmation(), "no projects");
}

#[test]
fn sums_wrap_at_64_bits() {
    let amounts = [(CONFIRMED, None, u64::MAX), (CONFIRMED, None, 3)];
    assert!(!requires([2, 0, 0, 0], &amounts));
}
