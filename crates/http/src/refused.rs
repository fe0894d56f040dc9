//! Heads of requests that the HTTP library refuses before any handler sees them. It keeps the bytes of the current head and
//! replaces the library's own empty answer by what somebody else says about that head; it parses nothing itself, and says
//! nothing where nobody wants to.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::patience::Turns;

/// Longer heads are not kept.
const MOST_KEPT: usize = 64 * 1024;
const VERSION: &[u8] = b"HTTP/1.1 ";
/// The library says no more than a status.
const EMPTY: &[u8] = b"\r\ncontent-length: 0\r\n";

/// What is answered, byte for byte, to a head that the library refused with this status; `None` leaves its own answer. The
/// connection is closed afterwards. It runs while the answer is written and must not wait.
pub type Refused = Arc<dyn Fn(StatusCode, &[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// A stream whose refusals somebody else may word.
pub(crate) struct RefusedHeads<S> {
    stream: S,
    turns: Turns,
    refused: Option<Refused>,
    head: Vec<u8>,
    /// The count of turns that `head` belongs to: another one means that a handler has got its request.
    turn: usize,
    /// What is written instead.
    instead: Vec<u8>,
    written: usize,
}

impl<S> RefusedHeads<S> {
    pub fn new(stream: S, turns: Turns, refused: Option<Refused>) -> Self {
        Self { stream, turns, refused, head: Vec::new(), turn: 0, instead: Vec::new(), written: 0 }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let turn = self.turns.count();
        if turn != self.turn {
            self.turn = turn;
            self.head.clear();
        }
        // While a handler runs, what comes in is its body.
        if turn.is_multiple_of(2) && self.head.len() + bytes.len() <= MOST_KEPT {
            self.head.extend_from_slice(bytes);
        }
    }

    /// What stands in place of these bytes, if they are the library's answer to a head that no handler has got.
    fn other_words(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let refused = self.refused.as_ref()?;
        if self.head.is_empty() || self.turns.count() != self.turn {
            return None;
        }
        refused(refusal(bytes)?, &self.head)
    }
}

/// The status of an answer that refuses a request without a word.
fn refusal(bytes: &[u8]) -> Option<StatusCode> {
    let status = StatusCode::from_bytes(bytes.strip_prefix(VERSION)?.get(..3)?).ok()?;
    let is_empty = || bytes.windows(EMPTY.len()).any(|part| part == EMPTY);
    (status.is_client_error() && is_empty()).then_some(status)
}

impl<S: AsyncWrite + Unpin> RefusedHeads<S> {
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.instead.len() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.instead[self.written..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RefusedHeads<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        if this.refused.is_some() {
            this.keep(&buf.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RefusedHeads<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(this.poll_instead(cx))?;
        if let Some(instead) = this.other_words(bytes) {
            this.instead = instead;
            this.written = 0;
            this.head.clear();
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut this.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The library's own answer is one slice.
        match slices.iter().find(|slice| !slice.is_empty()) {
            Some(first) if refusal(first).is_some() => self.poll_write(cx, first),
            _ => {
                ready!(self.poll_instead(cx))?;
                Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
