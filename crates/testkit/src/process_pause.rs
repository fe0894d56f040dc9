//! A process that can be suspended at any point and resumed later, as with SIGSTOP and SIGCONT: time passes, and its
//! timers notice it afterwards.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Whether a process runs. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct ProcessPause {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: Vec<Waker>,
}

impl ProcessPause {
    pub fn pause(&self) {
        self.state.lock().closed = true;
    }

    pub fn resume(&self) {
        let mut state = self.state.lock();
        state.closed = false;
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Work of the process: it proceeds only while the process runs.
    pub fn run<F: Future + Send + 'static>(&self, work: F) -> Through<F> {
        Through { pause: self.clone(), work: Box::pin(work) }
    }

    /// Whether the process is suspended; registers the caller to be polled when it resumes.
    fn is_closed(&self, context: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            state.waiting.push(context.waker().clone());
        }
        state.closed
    }
}

/// Work behind a [`ProcessPause`].
pub struct Through<F> {
    pause: ProcessPause,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Through<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.pause.is_closed(context) { Poll::Pending } else { self.work.as_mut().poll(context) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_process_finds_out_later_that_its_time_has_passed() {
        let pause = ProcessPause::default();
        let started_at = Instant::now();
        let work = tokio::spawn(pause.run(async move {
            sleep(Duration::from_secs(1)).await;
            started_at.elapsed()
        }));
        sleep(Duration::from_millis(10)).await;
        pause.pause();
        sleep(Duration::from_secs(20)).await;
        assert!(!work.is_finished());
        pause.resume();
        assert_eq!(work.await.unwrap().as_secs(), 20);
    }
}
