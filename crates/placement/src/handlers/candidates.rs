//! GET `/allocation_candidates` (document 51 section 12). It decides where and how many of the answers are made at once, and
//! how much of them is held for clients that read slowly; what is in them is the model's.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, Pages, parse};
use futures::stream;
use tokio::sync::OwnedSemaphorePermit;
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
    let begun = tokio::task::spawn_blocking(move || begin(model, &question, &generation));
    let begun = timeout_at(call.until, begun).await.map_err(|_| Problem::unavailable("query too complex"))?;
    let (first, rest) = begun.map_err(|_| Problem::unavailable("the query could not be finished"))??;
    let share = if rest.is_whole() { None } else { Some(api.unread(rest.weight(), call.until).await?) };
    drop(round);
    Ok(Answer::body(body(first, rest, share), Age::New))
}

/// The first piece, which is often all, and what makes the others.
fn begin(
    model: Arc<Model>,
    question: &CandidatesQuestion,
    generation: &GenerationOptions,
) -> Result<(Vec<u8>, Pages), Problem> {
    match Pages::new(model, question, generation) {
        Ok(mut pages) => Ok((pages.next().unwrap_or_default(), pages)),
        Err(NoCandidates::Refused(refusal)) => Err(refusal.into()),
        Err(too_complex) => Err(Problem::unavailable(too_complex.to_string())),
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
