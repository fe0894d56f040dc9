//! Spreads runs over threads, each on its own runtime. A run that panics does not stop the others.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// The result or the panic message of every job, in their order.
pub fn spread<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<Result<R, String>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let goes_on = || {
        while let Some((at, job)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, jobs.get(at)?)))
        {
            let result = catch_unwind(AssertUnwindSafe(|| work(job))).map_err(|panic| reported(&*panic));
            done.lock().push((at, result));
        }
    };
    let count = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| (0..count).for_each(|_| drop(scope.spawn(goes_on))));
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn reported(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

#[test]
fn every_job_is_done_once_and_one_that_panics_is_reported() {
    let jobs: Vec<_> = (0..100).collect();
    let done = spread(&jobs, |job| {
        assert!(*job != 7, "number {job}");
        job * 2
    });
    let wanted = |job: &i32| if *job == 7 { Err("number 7".to_owned()) } else { Ok(job * 2) };
    assert_eq!(done, jobs.iter().map(wanted).collect::<Vec<_>>());
}
