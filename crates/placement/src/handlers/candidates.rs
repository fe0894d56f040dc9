//! GET `/allocation_candidates` (document 51 section 12). It decides nothing: the model writes the whole body.

use super::call::Call;
use super::view;
use crate::answer::{Age, Answer};
use crate::api::Api;
use crate::protocol::problem::Problem;

pub async fn list(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let body = view(api, call).await?.candidates(&call.query, call.version, call.until).await?;
    Ok(Answer::body(body, Age::New))
}
