//! Answers that clients have not read yet. Those of more than a page take a share of the memory for all of them, until the last
//! byte is sent or the client is gone.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use berth_http::server;
use futures::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::protocol::api_error::ApiError;

/// Bytes of a page; its last element may exceed them. An answer of one page is sent whole.
pub const PAGE: usize = 48 * 1024;

/// An answer in pages, each made when it is taken.
pub trait PageSource: Iterator<Item = Vec<u8>> + Send + 'static {
    /// Whether there are no more pages.
    fn is_over(&self) -> bool;

    /// About how many bytes it holds until then.
    fn weight(&self) -> usize;
}

/// Bytes that are not sent yet, and the share of their answer.
struct HeldBytes<B> {
    bytes: B,
    _share: Arc<OwnedSemaphorePermit>,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for HeldBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// 200 with these pages.
pub async fn answer(api: &Api, until: Instant, mut pages: impl PageSource, age: AnswerAge) -> Result<Answer, ApiError> {
    let first = pages.next().unwrap_or_default();
    answer_from(api, until, first, pages, age).await
}

/// The same if the first page is there already.
pub async fn answer_from(
    api: &Api,
    until: Instant,
    first: Vec<u8>,
    rest: impl PageSource,
    age: AnswerAge,
) -> Result<Answer, ApiError> {
    if rest.is_over() {
        return Ok(Answer::body(first.into(), age));
    }
    // The HTTP stack takes pages until it holds so many bytes, and then there is one that it has not taken.
    let share = Arc::new(api.unread(rest.weight() + server::HELD + PAGE, until).await?);
    // A page gives its part in the share back when it is sent. So does the iterator, after the last page or without a client.
    let pages = [first].into_iter().chain(rest).map(move |page| hold(page, share.clone()));
    Ok(Answer::body(Body::from_stream(stream::iter(pages.map(Ok::<_, Infallible>))), age))
}

/// A body that is in memory already, with its share if it is longer than a page.
pub async fn hold_whole(api: &Api, until: Instant, body: Body) -> Result<Body, ApiError> {
    let length = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default();
    if length <= PAGE {
        return Ok(body);
    }
    let share = Arc::new(api.unread(length, until).await?);
    let bytes = to_bytes(body, length).await;
    bytes.map(|bytes| hold(bytes, share).into()).map_err(|_| ApiError::unavailable("the answer broke off"))
}

fn hold(bytes: impl AsRef<[u8]> + Send + 'static, share: Arc<OwnedSemaphorePermit>) -> Bytes {
    Bytes::from_owner(HeldBytes { bytes, _share: share })
}
