//! Requests for changes of commitments, with the totals that Limes computes from what it has sold.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeRequest {
    pub az: String,
    pub dry_run: bool,
    pub info_version: i64,
    pub by_project: BTreeMap<String, ProjectChangeset>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectChangeset {
    pub project_metadata: ProjectMetadata,
    pub by_resource: BTreeMap<String, ResourceChangeset>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectMetadata {
    pub uuid: String,
    pub name: String,
    pub domain: DomainMetadata,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DomainMetadata {
    pub uuid: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceChangeset {
    pub total_confirmed_before: u64,
    pub total_confirmed_after: u64,
    pub total_guaranteed_before: u64,
    pub total_guaranteed_after: u64,
    pub commitments: Vec<Commitment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commitment {
    pub uuid: String,
    pub old_status: Option<Status>,
    pub new_status: Option<Status>,
    pub amount: u64,
    pub expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Pending,
    Confirmed,
    Superseded,
}

/// The change of one commitment in a project and a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub project: String,
    pub resource: String,
    pub uuid: String,
    pub old: Option<Status>,
    pub new: Option<Status>,
    /// In units of the resource.
    pub amount: u64,
}

/// The same for all requests of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub zone: String,
    pub info_version: i64,
    pub expires_at: Timestamp,
}

/// The confirmed amounts by project and resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger(BTreeMap<(String, String), u64>);

impl Ledger {
    /// The request, and the ledger once it is accepted.
    pub fn request(&self, terms: &Terms, items: &[Item]) -> (ChangeRequest, Self) {
        let mut after = self.clone();
        for item in items {
            after.count(item);
        }
        let mut by_project = BTreeMap::new();
        for item in items {
            let project = by_project.entry(item.project.clone()).or_insert_with(|| changeset_of(&item.project));
            let changeset = project.by_resource.entry(item.resource.clone()).or_default();
            changeset.total_confirmed_before = self.confirmed(item);
            changeset.total_confirmed_after = after.confirmed(item);
            changeset.commitments.push(commitment(item, terms.expires_at));
        }
        let (az, info_version) = (terms.zone.clone(), terms.info_version);
        (ChangeRequest { az, dry_run: false, info_version, by_project }, after)
    }

    fn confirmed(&self, item: &Item) -> u64 {
        self.0.get(&(item.project.clone(), item.resource.clone())).copied().unwrap_or_default()
    }

    fn count(&mut self, item: &Item) {
        let confirmed = self.0.entry((item.project.clone(), item.resource.clone())).or_default();
        if item.old == Some(Status::Confirmed) {
            *confirmed = confirmed.saturating_sub(item.amount);
        }
        if item.new == Some(Status::Confirmed) {
            *confirmed = confirmed.saturating_add(item.amount);
        }
    }
}

fn commitment(item: &Item, expires_at: Timestamp) -> Commitment {
    let Item { uuid, old, new, amount, .. } = item.clone();
    Commitment { uuid, old_status: old, new_status: new, amount, expires_at }
}

fn changeset_of(project: &str) -> ProjectChangeset {
    let domain = DomainMetadata { uuid: "limes-double".to_owned(), name: "limes-double".to_owned() };
    let project_metadata = ProjectMetadata { uuid: project.to_owned(), name: project.to_owned(), domain };
    ProjectChangeset { project_metadata, by_resource: BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn totals_are_those_before_and_after_all_items() {
        let terms =
            Terms { zone: "az".to_owned(), info_version: 7, expires_at: "2026-03-02T08:15:00Z".parse().unwrap() };
        let item = |uuid: &str, old, new, amount| Item {
            project: "p".to_owned(),
            resource: "r".to_owned(),
            uuid: uuid.to_owned(),
            old,
            new,
            amount,
        };
        let confirmed = Some(Status::Confirmed);
        let (_, ledger) = Ledger::default().request(&terms, &[item("a", None, confirmed, 4)]);
        let split = [item("a", confirmed, Some(Status::Superseded), 4), item("b", None, confirmed, 3)];
        let (request, _) = ledger.request(&terms, &split);
        let changeset = &request.by_project["p"].by_resource["r"];
        assert_eq!((changeset.total_confirmed_before, changeset.total_confirmed_after), (4, 3));
        assert_eq!(
            serde_json::to_value(&changeset.commitments[0]).unwrap(),
            json!({
                "uuid": "a", "oldStatus": "confirmed", "newStatus": "superseded", "amount": 4,
                "expiresAt": "2026-03-02T08:15:00Z"
            })
        );
        assert_eq!(serde_json::to_value(&changeset.commitments[1]).unwrap()["oldStatus"], json!(null));
    }
}
