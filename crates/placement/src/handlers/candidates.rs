//! GET `/allocation_candidates`, with a limit for answers that are computed at once.

use std::sync::Arc;

use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, Pages, parse};
use tokio::time::timeout_at;

use super::call::Call;
use super::ledger::model;
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::protocol::api_error::ApiError;
use crate::unread::{self, PageSource};

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let question = parse::candidates(&call.query, call.version)?;
    let model = model(api, call).await?;
    let generation = api.generation();
    let (first, rest) = match Pages::at_once(&model, &question, &generation).map_err(to_error)? {
        Some(found) => take_first_page(found),
        None => compute_on_pool(api, call, model, question, generation).await?,
    };
    unread::answer_from(api, call.until, first, rest, AnswerAge::New).await
}

impl PageSource for Pages {
    fn is_over(&self) -> bool {
        self.is_whole()
    }

    fn weight(&self) -> usize {
        Self::weight(self)
    }
}

/// For what computes long, and must not keep others from being answered.
async fn compute_on_pool(
    api: &Api,
    call: &Call,
    model: Arc<Model>,
    question: CandidatesQuestion,
    generation: GenerationOptions,
) -> Result<(Vec<u8>, Pages), ApiError> {
    let _round = api.round(call.until).await?;
    let found = tokio::task::spawn_blocking(move || Pages::new(model, &question, &generation).map(take_first_page));
    let found = timeout_at(call.until, found).await.map_err(|_| ApiError::unavailable("query too complex"))?;
    found.map_err(|_| ApiError::unavailable("the query could not be finished"))?.map_err(to_error)
}

/// The first chunk, which is often the whole response, and the pages that produce the rest.
fn take_first_page(mut pages: Pages) -> (Vec<u8>, Pages) {
    (pages.next().unwrap_or_default(), pages)
}

fn to_error(none: NoCandidates) -> ApiError {
    match none {
        NoCandidates::Refused(refusal) => refusal.into(),
        too_complex @ NoCandidates::TooComplex => ApiError::unavailable(too_complex.to_string()),
    }
}
