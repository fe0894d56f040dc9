//! Queries of GET `/traits` and GET `/usages`. Those of providers and candidates are read by the model.

use berth_placement_model::Version;

use super::{Lazy, text};
use crate::json::Json;
use crate::ledger::{KindFilter, UsageQuestion};
use crate::protocol::api_error::ApiError;
use crate::schema::{Pattern, Schema};

/// Filters of GET `/traits`; all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraitFilter {
    names: Option<Vec<String>>,
    prefix: Option<String>,
    associated: Option<bool>,
}

impl TraitFilter {
    pub fn passes(&self, name: &str, has_holders: bool) -> bool {
        self.names.as_ref().is_none_or(|names| names.iter().any(|one| one == name))
            && self.prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
            && self.associated.is_none_or(|wanted| wanted == has_holders)
    }
}

pub static TRAITS: Lazy =
    Lazy::new(|| Schema::object().with("name", Schema::text()).with("associated", Schema::text()));

static USAGES: Lazy = Lazy::new(usages);
static USAGES_WITH_KIND: Lazy =
    Lazy::new(|| usages().with("consumer_type", Schema::text().nonempty().up_to(255).like(Pattern::KIND)));

fn usages() -> Schema {
    let id = || Schema::text().nonempty().up_to(255);
    Schema::object().requires("project_id", id()).with("user_id", id())
}

pub fn usages_schema(version: Version) -> &'static Schema {
    if version.has(Version::CONSUMER_TYPES) { &USAGES_WITH_KIND } else { &USAGES }
}

pub fn usage_question(query: &Json) -> UsageQuestion {
    let member = |name| query.get(name).and_then(Json::as_text).map(str::to_owned);
    let kind = match member("consumer_type").as_deref() {
        None | Some("all") => None,
        Some("unknown") => Some(KindFilter::Unset),
        Some(kind) => Some(KindFilter::Is(kind.to_owned())),
    };
    UsageQuestion { project: text(query, "project_id"), user: member("user_id"), kind }
}

pub fn all_together(query: &Json) -> bool {
    query.get("consumer_type").and_then(Json::as_text) == Some("all")
}

pub fn trait_filter(query: &Json) -> Result<TraitFilter, ApiError> {
    let mut filter = TraitFilter::default();
    if let Some(value) = query.get("name").and_then(Json::as_text) {
        match value.split_once(':') {
            Some(("in", names)) => filter.names = Some(names.split(',').map(str::to_owned).collect()),
            Some(("startswith", prefix)) => filter.prefix = Some(prefix.to_owned()),
            Some(_) => {}
            None => return Err(badly_formatted(value)),
        }
    }
    if let Some(value) = query.get("associated").and_then(Json::as_text) {
        filter.associated = Some(match value.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => {
                let text = r#"The query parameter "associated" only accepts "true" or "false""#;
                return Err(ApiError::invalid(text));
            }
        });
    }
    Ok(filter)
}

fn badly_formatted(value: &str) -> ApiError {
    let form = "Expected name query string parameter in form: ?name=[in|startswith]:[name1,name2|prefix]";
    ApiError::invalid(format!("Badly formatted name parameter. {form}. Got: \"{value}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    fn filter(query: &str) -> Result<TraitFilter, String> {
        trait_filter(&read(query.as_bytes()).unwrap()).map_err(|error| error.text)
    }

    #[test]
    fn filters_of_traits() {
        let names = Some(vec!["A".to_owned(), "B".to_owned()]);
        assert_eq!(filter(r#"{"name": "in:A,B"}"#).unwrap(), TraitFilter { names, ..TraitFilter::default() });
        let both = TraitFilter { prefix: Some("HW:".to_owned()), associated: Some(true), ..TraitFilter::default() };
        assert_eq!(filter(r#"{"name": "startswith:HW:", "associated": "True"}"#).unwrap(), both);
        assert_eq!(filter(r#"{"name": "other:A"}"#).unwrap(), TraitFilter::default());
        assert!(filter(r#"{"name": "A"}"#).unwrap_err().ends_with("[in|startswith]:[name1,name2|prefix]. Got: \"A\""));
        assert!(filter(r#"{"associated": "yes"}"#).unwrap_err().ends_with(r#"only accepts "true" or "false""#));
    }

    #[test]
    fn types_of_consumers() {
        let kind = |query: &str| usage_question(&read(query.as_bytes()).unwrap()).kind;
        assert_eq!(kind(r#"{"project_id": "p"}"#).or(kind(r#"{"consumer_type": "all"}"#)), None);
        assert_eq!(kind(r#"{"consumer_type": "unknown"}"#), Some(KindFilter::Unset));
        assert_eq!(kind(r#"{"consumer_type": "allx"}"#), Some(KindFilter::Is("allx".to_owned())));
    }
}
