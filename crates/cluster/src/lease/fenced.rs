//! The fence inside a client: a write is checked before it enters the client and again when its body is taken for the
//! socket. In between a process can be paused for any time, and a deadline does not help, because a request that can go
//! on does so before its deadline is checked.
//!
//! The API server ignores a request whose body does not arrive.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::{BoxError, service_fn};

use super::Fence;

/// The same client, whose writes are sent only while the fence is open.
pub(crate) fn fenced(client: &Client, fence: &Fence) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (client, fence) = (client.clone(), fence.clone());
    let service = service_fn(move |mut request: Request<Body>| {
        let (client, fence) = (client.clone(), fence.clone());
        async move {
            if request.method() == Method::GET {
                return client.send(request).await.map_err(BoxError::from);
            }
            // Counted before the check, so that closing the fence sees it.
            let sending = fence.sending();
            if let Err(refused) = fence.check() {
                sending.answered();
                return Err(refused.into());
            }
            request.extensions_mut().insert(fence);
            let answer = client.send(request).await?;
            sending.answered();
            Ok(answer)
        }
    });
    Client::new(service, namespace)
}

/// The request as it goes to the connection: its body checks its fence.
pub(crate) fn last_moment(request: Request<Body>) -> Request<LastMoment> {
    let fence = request.extensions().get::<Fence>().cloned().unwrap_or_default();
    request.map(|body| LastMoment { body, fence })
}

/// A body that is given out only while the fence is open.
pub(crate) struct LastMoment {
    body: Body,
    fence: Fence,
}

impl HttpBody for LastMoment {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Err(refused) = self.fence.check() {
            return Poll::Ready(Some(Err(refused.into())));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
