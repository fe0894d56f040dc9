use berth_cluster::{Fault, ReadError, Refused, Tried, Untried};
use insta::assert_snapshot;

use super::*;

fn checked(kind: &str, plural: &'static str, tried: Tried) -> Checked {
    Checked {
        cluster: "home".to_owned(),
        kind: kind.to_owned(),
        plural,
        tried: Ok(tried),
        in_force: Ok(true),
        duplicates: [].into(),
    }
}

fn refused(name: &str, field: &str, found: &str, expected: &str) -> Refused {
    let [field, found, expected] = [field, found, expected].map(str::to_owned);
    Refused { name: name.to_owned(), faults: vec![Fault { field, found, expected }] }
}

fn report(all: impl IntoIterator<Item = Checked>) -> CrdCheckReport {
    let mut report = CrdCheckReport::default();
    report.extend(all);
    report
}

fn everything() -> CrdCheckReport {
    let commitments = Tried {
        objects: 12,
        refused: vec![
            refused("old-1", "metadata.name", "\"old-1\"", "metadata.name must be commitment-uuid-1"),
            refused("old-2", "spec.amount", "\"-5Gi\"", "amount must not be negative"),
            refused("old-3", "status.conditions", "2 of the type Ready", "there is one condition of each type"),
        ],
        untried: vec![Untried { name: "old-4".to_owned(), why: "no answer within 4 s".to_owned() }],
    };
    let mut without_rules = checked("Reservation", "reservations", Tried { objects: 3, ..Tried::default() });
    without_rules.in_force = Ok(false);
    let mut unread = checked("ProjectQuota", "projectquotas", Tried::default());
    let error = ReadError {
        cluster: ClusterName::home(),
        kind: "ProjectQuota".to_owned(),
        why: "the API server refuses it (403)".to_owned(),
        not_served: false,
    };
    (unread.tried, unread.in_force) = (Err(error.clone()), Err(error));
    report([checked("CommittedResource", "committedresources", commitments), without_rules, unread])
}

#[test]
fn what_is_found_is_reported_with_what_to_do() {
    let report = everything();
    assert!(!report.is_good());
    assert_snapshot!(text(&report), @r#"
    CommittedResource home/old-1
      metadata.name is "old-1": metadata.name must be commitment-uuid-1
      to do: leave it until it ends: a name cannot be changed, and it is served under this one
    CommittedResource home/old-2
      spec.amount is "-5Gi": amount must not be negative
      to do: kubectl edit committedresources old-2; until then changes of its spec may be refused
    CommittedResource home/old-3
      status.conditions is 2 of the type Ready: there is one condition of each type
      to do: nothing: the next write of a condition removes the others
    CommittedResource home/old-4
      not checked: no answer within 4 s
    Reservation objects of cluster home
      not checked: its CRD lacks our rules: install it (berth crds prints it) and check again; objects that are stored already are served all the same
    ProjectQuota objects of cluster home
      not checked: the API server refuses it (403)
    "#);
    let counts = "15 objects checked, 3 would be refused; 1 object could not be tried; 2 kinds could not be checked \
                  against our rules";
    assert_eq!(report.summary(), counts);
}

#[test]
fn what_cannot_be_changed_is_not_to_be_edited_and_of_duplicates_one_is_to_be_deleted() {
    let refused = vec![
        refused("another", "metadata.name", "\"another\"", "metadata.name must be commitment-uuid-1"),
        refused("commitment-x", "spec.commitmentUUID", "\"x\"", "commitmentUUID must be 6 to 40 letters"),
    ];
    let mut report =
        report([checked("CommittedResource", "committedresources", Tried { objects: 3, refused, ..Tried::default() })]);
    let mut uuids = SameUuid::default();
    for (name, uuid) in [("another", "uuid-1"), ("commitment-uuid-1", "uuid-1"), ("commitment-x", "x")] {
        uuids.note(&ClusterName::home(), name, &json!({ "spec": { "commitmentUUID": uuid } }));
    }
    report.note_duplicates(&uuids);
    let advice: Vec<_> = report.checked[0].findings().map(|finding| finding.advice).collect();
    assert_eq!(
        advice,
        [
            "delete it or home/commitment-uuid-1: they have the same spec.commitmentUUID, and only one is served",
            "delete it and create another object: spec.commitmentUUID cannot be changed",
        ]
    );
}

#[test]
fn programs_get_the_same() {
    let value = serde_json::to_value(everything()).unwrap();
    let first = &value["checked"][0];
    assert_eq!((&first["objects"], &first["failure"]), (&json!(12), &Value::Null));
    assert_eq!(first["refused"][1]["field"], "spec.amount");
    assert_eq!(first["untried"], json!([{ "name": "old-4", "why": "no answer within 4 s" }]));
    assert_eq!(value["checked"][2]["failure"], "the API server refuses it (403)");
}

#[test]
fn nothing_to_complain_of_is_one_line() {
    let good = report([checked("Reservation", "reservations", Tried { objects: 1, ..Tried::default() })]);
    assert!(good.is_good());
    assert_eq!(text(&good), "1 object checked, 0 would be refused.\n");
}
