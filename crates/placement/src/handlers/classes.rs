//! Resource classes (document 51 section 6). It decides what PUT means by version; which classes may change is the model's.

use axum::http::StatusCode;
use berth_placement_model::{ClassName, Command, Outcome};
use serde::Serialize;

use super::call::{Call, agrees};
use super::{view, write};
use crate::answer::{Age, Answer};
use crate::api::Api;
use crate::bodies::names::{CLASS, body_with, class};
use crate::protocol::problem::Problem;
use crate::shapes;

/// From this version on PUT creates, before it renames.
const CREATING: u8 = 7;

#[derive(Serialize)]
struct All {
    resource_classes: Vec<shapes::Class>,
}

pub async fn list(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let classes = view(api, call).await?.classes();
    let age = Age::newest(classes.iter().map(|class| class.modified));
    Ok(Answer::json(&All { resource_classes: classes.iter().map(|class| shapes::class(&class.name)).collect() }, age))
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let found = view(api, call).await?.class(&call.key);
    let found = found.ok_or_else(|| Problem::not_found(format!("No such resource class {}.", call.key)))?;
    Ok(Answer::json(&shapes::class(&found.name), Age::newest([found.modified])))
}

pub async fn create(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let name = class(&call.json(&CLASS)?);
    let url = call.url(&shapes::class_path(name.as_str()));
    write(api, call, Command::CreateClass { name }).await?;
    Ok(Answer::empty(StatusCode::CREATED).at(url))
}

pub async fn put(api: &Api, call: &Call) -> Result<Answer, Problem> {
    if call.version.has(CREATING) { ensure(api, call).await } else { rename(api, call).await }
}

async fn ensure(api: &Api, call: &Call) -> Result<Answer, Problem> {
    agrees(&body_with(&call.key), &CLASS)?;
    let written = write(api, call, Command::EnsureClass { name: ClassName::new(&call.key) }).await?;
    let created = written.outcome == Outcome::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    Ok(Answer::empty(status).at(call.url(&shapes::class_path(&call.key))))
}

async fn rename(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let to = class(&call.json(&CLASS)?);
    write(api, call, Command::RenameClass { from: ClassName::new(&call.key), to: to.clone() }).await?;
    Ok(Answer::json(&shapes::class(&to), Age::New))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, Problem> {
    write(api, call, Command::DeleteClass { name: ClassName::new(&call.key) }).await?;
    Ok(Answer::nothing())
}
