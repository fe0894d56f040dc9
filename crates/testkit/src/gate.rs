//! A process that can be stopped in the middle of everything and go on later, as with SIGSTOP and SIGCONT: time passes, and
//! its timers find out afterwards.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Whether a process runs. Clones are about the same process.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    /// Stops the process.
    pub fn pause(&self) {
        self.state.lock().closed = true;
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let mut state = self.state.lock();
        state.closed = false;
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Work of the process: it gets on only while the process runs.
    pub fn through<F: Future + Send + 'static>(&self, work: F) -> Through<F> {
        Through { gate: self.clone(), work: Box::pin(work) }
    }

    /// True if the process stands still; whoever asks is woken when it goes on.
    fn is_closed(&self, context: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            state.waiting.push(context.waker().clone());
        }
        state.closed
    }
}

/// Work behind a [`Gate`].
pub struct Through<F> {
    gate: Gate,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Through<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.gate.is_closed(context) { Poll::Pending } else { self.work.as_mut().poll(context) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_process_finds_out_later_that_its_time_has_passed() {
        let gate = Gate::default();
        let began = Instant::now();
        let work = tokio::spawn(gate.through(async move {
            sleep(Duration::from_secs(1)).await;
            began.elapsed()
        }));
        sleep(Duration::from_millis(10)).await;
        gate.pause();
        sleep(Duration::from_secs(20)).await;
        assert!(!work.is_finished());
        gate.resume();
        assert_eq!(work.await.unwrap().as_secs(), 20);
    }
}
