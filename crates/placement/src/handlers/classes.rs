//! Resource classes, and the meaning of PUT by microversion.

use axum::http::StatusCode;
use berth_placement_model::{ClassName, Command, Outcome, Version};

use super::call::{Call, agrees};
use super::ledger::{model, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::names::{CLASS, body_with, class};
use crate::long_json::{Item, LongJson};
use crate::protocol::api_error::ApiError;
use crate::{shapes, unread};

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let model = model(api, call).await?;
    let classes = model.all_classes();
    let age = AnswerAge::newest(classes.iter().map(|class| class.1.modified));
    let names: Vec<ClassName> = classes.into_iter().map(|class| class.0.clone()).collect();
    let weight = shapes::weight(&names);
    let shapes = names.into_iter().map(|name| Item(shapes::class(&name)));
    unread::answer(api, call.until, LongJson::new(r#"{"resource_classes":["#, shapes, "]}", weight), age).await
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let name = ClassName::new(&call.key);
    let found = model(api, call).await?.class(&name);
    let found = found.ok_or_else(|| ApiError::not_found(format!("No such resource class {name}.")))?;
    Ok(Answer::json(&shapes::class(&name), AnswerAge::newest([found.modified])))
}

pub async fn create(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let name = class(&call.json(&CLASS)?);
    let url = shapes::class_path(name.as_str());
    write(api, call, Command::CreateClass { name }).await?;
    Ok(Answer::empty(StatusCode::CREATED).at(url))
}

pub async fn put(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    if call.version.has(Version::CLASS_WITHOUT_BODY) { ensure(api, call).await } else { rename(api, call).await }
}

async fn ensure(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    agrees(&body_with(&call.key), &CLASS)?;
    let written = write(api, call, Command::EnsureClass { name: ClassName::new(&call.key) }).await?;
    let created = written.outcome == Outcome::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    Ok(Answer::empty(status).at(shapes::class_path(&call.key)))
}

async fn rename(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let to = class(&call.json(&CLASS)?);
    write(api, call, Command::RenameClass { from: ClassName::new(&call.key), to: to.clone() }).await?;
    // Versions that rename are older than those with the age headers.
    Ok(Answer::json(&shapes::class(&to), AnswerAge::Unknown))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteClass { name: ClassName::new(&call.key) }).await?;
    Ok(Answer::nothing())
}
