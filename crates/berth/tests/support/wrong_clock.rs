//! Gives a process another wall clock, by a library that is loaded before all others. Its monotonic clock stays right.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
  int code = (int)syscall(SYS_clock_gettime, clock, at);
  if (code == 0 && clock == CLOCK_REALTIME)
    at->tv_sec += atol(getenv("SECONDS_AHEAD"));
  return code;
}
"#;

/// The variables of a process whose clock is wrong by this much. The library is built in `folder`.
pub fn wrong_clock(folder: &Path, seconds_ahead: i64) -> [String; 2] {
    let (source, library) = (folder.join("wrong_clock.c"), folder.join("wrong_clock.so"));
    std::fs::write(&source, SOURCE).unwrap();
    // Rust links with it, so it is there.
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(built.success(), "{built}");
    [format!("LD_PRELOAD={}", library.display()), format!("SECONDS_AHEAD={seconds_ahead}")]
}
