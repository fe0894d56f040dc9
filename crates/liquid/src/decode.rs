//! Decodes the body of a request, a large one outside of the runtime.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use berth_core::liquid::request::DecodeError;
use tokio::sync::Semaphore;

use crate::refused::Refused;

/// From this size on, the rest of the process must not wait for a body.
const LARGE: usize = 1 << 18;
/// Large bodies that are decoded at the same time: what they become needs several times their memory.
const AT_ONCE: usize = 4;

pub(crate) struct Decoder {
    large: Arc<Semaphore>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { large: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Decoder {
    pub(crate) async fn decode<T: Send + 'static>(
        &self,
        body: &Bytes,
        decode: fn(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, Refused> {
        if body.len() < LARGE {
            return decode(body).map_err(|error| refuse(&error));
        }
        let Ok(permit) = self.large.clone().acquire_owned().await else { return Err(Refused::not_ready()) };
        let body = body.clone();
        let decode = move || {
            // A body whose caller has gone away is decoded to its end.
            let _permit = permit;
            decode(&body)
        };
        match tokio::task::spawn_blocking(decode).await {
            Ok(decoded) => decoded.map_err(|error| refuse(&error)),
            // A panic is a bug, and answered like one in any handler; otherwise the runtime ends.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Refused::not_ready()),
            },
        }
    }
}

fn refuse(error: &DecodeError) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, format!("Invalid request body: {error}"))
}
