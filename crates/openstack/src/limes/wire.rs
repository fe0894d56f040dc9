//! The answers of Keystone and Limes as JSON. A member of another type is an error; its text says where, and quotes nothing.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

/// A project of Keystone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Project {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub domain_id: String,
}

/// One page of the list of projects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProjectsPage {
    pub projects: Vec<Project>,
    pub next: Option<String>,
}

/// A commitment as Limes lists it. Texts are empty where Limes leaves them out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ListedCommitment {
    #[serde(deserialize_with = "or_default")]
    pub uuid: String,
    #[serde(deserialize_with = "or_default")]
    pub service_type: String,
    #[serde(deserialize_with = "or_default")]
    pub resource_name: String,
    #[serde(deserialize_with = "or_default")]
    pub availability_zone: String,
    #[serde(deserialize_with = "or_default")]
    pub amount: u64,
    #[serde(deserialize_with = "or_default")]
    pub unit: String,
    #[serde(deserialize_with = "seconds")]
    pub created_at: Option<Timestamp>,
    #[serde(deserialize_with = "seconds")]
    pub confirmed_at: Option<Timestamp>,
    /// `None`: never.
    #[serde(deserialize_with = "seconds")]
    pub expires_at: Option<Timestamp>,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProjectsAnswer {
    #[serde(deserialize_with = "or_default")]
    projects: Vec<Project>,
    #[serde(deserialize_with = "or_default")]
    links: Links,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Links {
    next: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CommitmentsAnswer {
    #[serde(deserialize_with = "or_default")]
    commitments: Vec<ListedCommitment>,
}

/// Reads a page of projects.
pub fn decode_projects(body: &[u8]) -> Result<ProjectsPage, String> {
    let answer: ProjectsAnswer = decode(body)?;
    let next = answer.links.next.filter(|next| !next.is_empty());
    Ok(ProjectsPage { projects: answer.projects, next })
}

/// Reads the commitments of a project. An answer without any list is one without commitments.
pub fn decode_commitments(body: &[u8]) -> Result<Vec<ListedCommitment>, String> {
    decode::<CommitmentsAnswer>(body).map(|answer| answer.commitments)
}

/// An array would be read as the members of an object, one after the other.
fn decode<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, String> {
    if body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| *first == b'[') {
        return Err("it is a list, not an object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| describe(&error))
}

fn describe(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Io | Category::Syntax => "it is no JSON",
        Category::Data => "a member has another type or value than expected",
        Category::Eof => "it ends too early",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// `null` is the same as an absent member.
fn or_default<'d, D: Deserializer<'d>, T: Default + Deserialize<'d>>(found: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(found).map(Option::unwrap_or_default)
}

/// UNIX seconds; 0 is none, and times after the end of the calendar are its end.
fn seconds<'d, D: Deserializer<'d>>(found: D) -> Result<Option<Timestamp>, D::Error> {
    let seconds = Option::<u64>::deserialize(found)?.filter(|seconds| *seconds > 0);
    let time = |seconds: u64| Timestamp::from_second(i64::try_from(seconds).unwrap_or(i64::MAX));
    Ok(seconds.map(|seconds| time(seconds).unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_commitment_has_the_members_that_count() {
        let body = json!({ "commitments": [{
            "id": 42023, "uuid": "ce3ac9b3-752b-4d03-81e4-c5ea104ca9a1", "service_type": "compute",
            "resource_name": "hw_version_2101_ram", "availability_zone": "az-1", "amount": 5, "unit": "16 GiB",
            "duration": "2 years", "created_at": 1_767_225_600, "confirm_by": 1_772_323_200,
            "confirmed_at": 1_772_323_200, "expires_at": 1_893_456_000, "status": "confirmed",
            "notify_on_confirm": true, "transfer_status": "unlisted", "transfer_token": "s3cret",
        }] });
        let read = decode_commitments(body.to_string().as_bytes()).unwrap();
        let time = |text: &str| text.parse().ok();
        let expected = ListedCommitment {
            uuid: "ce3ac9b3-752b-4d03-81e4-c5ea104ca9a1".to_owned(),
            service_type: "compute".to_owned(),
            resource_name: "hw_version_2101_ram".to_owned(),
            availability_zone: "az-1".to_owned(),
            amount: 5,
            unit: "16 GiB".to_owned(),
            created_at: time("2026-01-01T00:00:00Z"),
            confirmed_at: time("2026-03-01T00:00:00Z"),
            expires_at: time("2030-01-01T00:00:00Z"),
            status: "confirmed".to_owned(),
        };
        assert_eq!(read, [expected]);
        assert!(!format!("{read:?}").contains("s3cret"));
    }

    #[test]
    fn members_that_are_absent_or_null_are_empty() {
        for body in ["{}", r#"{"commitments":null}"#, r#"{"commitments":[]}"#, " {\"rates\":1}"] {
            assert_eq!(decode_commitments(body.as_bytes()), Ok(Vec::new()), "{body}");
        }
        let read = decode_commitments(br#"{"commitments":[{"unit":null,"expires_at":0},{}]}"#).unwrap();
        assert_eq!(read, [ListedCommitment::default(), ListedCommitment::default()]);
    }

    #[test]
    fn times_beyond_the_calendar_are_its_end() {
        let body = format!(r#"{{"commitments":[{{"expires_at":{}}}]}}"#, u64::MAX);
        assert_eq!(decode_commitments(body.as_bytes()).unwrap()[0].expires_at, Some(Timestamp::MAX));
    }

    #[test]
    fn an_error_says_where_and_quotes_nothing() {
        for (body, what) in [
            (r#"{"commitments":[{"uuid":"s3cret","amount":-5}]}"#, "a member has another type or value"),
            (r#"{"commitments":"s3cret"}"#, "a member has another type or value"),
            (r#"{"commitments":[{"created_at":"s3cret"}]}"#, "a member has another type or value"),
            (r#"{"commitments":[{"created_at":-1}]}"#, "a member has another type or value"),
            (r#"{"commitments":[{"uuid":"s3cret""#, "it ends too early"),
            ("<html>s3cret", "it is no JSON"),
            (r#"[[{"uuid":"s3cret"}]]"#, "it is a list, not an object"),
            ("", "it ends too early"),
        ] {
            let error = decode_commitments(body.as_bytes()).unwrap_err();
            assert!(error.starts_with(what) && !error.contains("s3cret"), "{body}: {error}");
        }
    }

    #[test]
    fn a_page_of_projects_names_the_next_one() {
        let page = decode_projects(
            br#"{"projects":[{"id":"p-1","name":"prod","domain_id":"d-1","enabled":false}],"links":{"next":"http://k/v3/projects?marker=p-1"}}"#,
        )
        .unwrap();
        let project = Project { id: "p-1".to_owned(), domain_id: "d-1".to_owned() };
        let next = Some("http://k/v3/projects?marker=p-1".to_owned());
        assert_eq!(page, ProjectsPage { projects: vec![project], next });
        for last in [r#"{"projects":null,"links":{"next":null}}"#, r#"{"links":{"next":""}}"#, r#"{"links":null}"#] {
            assert_eq!(decode_projects(last.as_bytes()), Ok(ProjectsPage::default()), "{last}");
        }
        assert!(decode_projects(br#"{"projects":[{"name":"without id"}]}"#).is_err());
    }
}
