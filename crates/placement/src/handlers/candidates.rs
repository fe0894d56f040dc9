//! GET `/allocation_candidates`. It decides where and how many of the answers are made at once, and how much of them is
//! held for clients that read slowly; what is in them is the model's.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, Pages, parse};
use futures::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

use super::call::Call;
use super::ledger::model;
use crate::answer::{Age, Answer};
use crate::api::Api;
use crate::protocol::problem::Problem;

pub async fn list(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let question = parse::candidates(&call.query, call.version)?;
    let model = model(api, call).await?;
    let generation = api.generation();
    let (first, rest) = match Pages::at_once(&model, &question, &generation).map_err(problem)? {
        Some(found) => begun(found),
        None => elsewhere(api, call, model, question, generation).await?,
    };
    let share = if rest.is_whole() { None } else { Some(api.unread(rest.weight(), call.until).await?) };
    Ok(Answer::body(body(first, rest, share), Age::New))
}

/// For what computes long, and must not keep others from being answered.
async fn elsewhere(
    api: &Api,
    call: &Call,
    model: Arc<Model>,
    question: CandidatesQuestion,
    generation: GenerationOptions,
) -> Result<(Vec<u8>, Pages), Problem> {
    let _round = api.round(call.until).await?;
    let found = tokio::task::spawn_blocking(move || Pages::new(model, &question, &generation).map(begun));
    let found = timeout_at(call.until, found).await.map_err(|_| Problem::unavailable("query too complex"))?;
    found.map_err(|_| Problem::unavailable("the query could not be finished"))?.map_err(problem)
}

/// The first piece, which is often all, and what makes the others.
fn begun(mut pages: Pages) -> (Vec<u8>, Pages) {
    (pages.next().unwrap_or_default(), pages)
}

fn problem(none: NoCandidates) -> Problem {
    match none {
        NoCandidates::Refused(refusal) => refusal.into(),
        too_complex @ NoCandidates::TooComplex => Problem::unavailable(too_complex.to_string()),
    }
}

/// What does not fit into the first piece is made as the client reads.
fn body(first: Vec<u8>, rest: Pages, share: Option<OwnedSemaphorePermit>) -> Body {
    let Some(share) = share else { return first.into() };
    // The share is given back with the pieces: when the last one has been taken, or the client has gone.
    let rest = rest.inspect(move |_| {
        let _held = &share;
    });
    Body::from_stream(stream::iter([first].into_iter().chain(rest).map(Ok::<_, Infallible>)))
}
