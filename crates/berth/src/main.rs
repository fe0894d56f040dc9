//! `berth`: keeps a berth free for every commitment.

use std::process::ExitCode;

use berth::args::Arguments;
use berth::commands;
use berth_core::text::escape;
use tikv_jemallocator::Jemalloc;

/// Gives memory back to the operating system within seconds when load is over.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    match commands::run(Arguments::from_environment()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            for line in error.lines() {
                eprintln!("berth: {}", escape(&line));
            }
            error.exit_code()
        }
    }
}
