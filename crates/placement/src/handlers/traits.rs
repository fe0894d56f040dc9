//! Traits.

use axum::http::StatusCode;
use berth_placement_model::{Command, Outcome, TraitName};

use super::call::Call;
use super::ledger::{model, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::names::is_custom_trait;
use crate::bodies::queries::{TRAITS, trait_filter};
use crate::long_json::{LongJson, Text};
use crate::protocol::api_error::ApiError;
use crate::shapes::weight;
use crate::unread;

const INVALID: &str = "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \
    \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"";

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let filter = trait_filter(&call.parameters(&TRAITS)?)?;
    let model = model(api, call).await?;
    let passes = |(name, _, held): &(&TraitName, _, bool)| filter.passes(name.as_str(), *held);
    let found: Vec<_> = model.all_traits().into_iter().filter(passes).collect();
    let age = AnswerAge::newest(found.iter().map(|one| one.1.modified));
    let names: Vec<TraitName> = found.iter().map(|one| one.0.clone()).collect();
    let weight = weight(&names);
    let names = names.into_iter().map(Text);
    unread::answer(api, call.until, LongJson::new(r#"{"traits":["#, names, "]}", weight), age).await
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let found = model(api, call).await?.a_trait(&TraitName::new(&call.key));
    let found = found.ok_or_else(|| ApiError::not_found(format!("No such trait(s): {}.", call.key)))?;
    Ok(Answer::nothing().aged(AnswerAge::newest([found.modified])))
}

pub async fn put(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    if !is_custom_trait(&call.key) {
        return Err(ApiError::invalid(INVALID));
    }
    let name = TraitName::new(&call.key);
    let written = write(api, call, Command::EnsureTrait { name: name.clone() }).await?;
    let created = written.outcome == Outcome::Created;
    let age = match model(api, call).await?.a_trait(&name) {
        Some(found) if !created => AnswerAge::newest([found.modified]),
        _ => AnswerAge::New,
    };
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    Ok(Answer::empty(status).at(format!("/traits/{}", call.key)).aged(age))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteTrait { name: TraitName::new(&call.key) }).await?;
    Ok(Answer::nothing())
}
