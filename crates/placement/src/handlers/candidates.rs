//! GET `/allocation_candidates` (document 51 section 12). It decides where and how many of the answers are made at once; what is
//! in them is the model's.

use std::sync::Arc;

use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, parse};
use tokio::time::timeout_at;

use super::call::Call;
use super::model;
use crate::answer::{Age, Answer};
use crate::api::Api;
use crate::protocol::problem::Problem;

pub async fn list(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let question = parse::candidates(&call.query, call.version)?;
    let model = model(api, call).await?;
    let (generation, round) = (api.generation(), api.round(call.until).await?);
    // It may compute for long, and must not keep others from being answered.
    let body = tokio::task::spawn_blocking(move || {
        let _round = round;
        body(&model, &question, &generation)
    });
    let body = timeout_at(call.until, body).await.map_err(|_| Problem::unavailable("query too complex"))?;
    let body = body.map_err(|_| Problem::unavailable("the query could not be finished"))??;
    Ok(Answer::body(body.into(), Age::New))
}

fn body(model: &Arc<Model>, question: &CandidatesQuestion, generation: &GenerationOptions) -> Result<Vec<u8>, Problem> {
    match model.candidates(question, generation) {
        Ok(candidates) => Ok(candidates.body()),
        Err(NoCandidates::Refused(refusal)) => Err(refusal.into()),
        Err(too_complex) => Err(Problem::unavailable(too_complex.to_string())),
    }
}
