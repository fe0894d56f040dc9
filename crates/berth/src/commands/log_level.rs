//! `berth log-level`: shows or changes what a running operator logs.

use tokio::runtime;

use super::output;
use crate::args::LogLevelArguments;
use crate::error::Error;
use crate::log_level;

pub(super) fn run(LogLevelArguments { level, pid }: &LogLevelArguments) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    if level.as_deref() == Some("") {
        return Err(Error::Wrong("an empty text is not a log level; leave it out to see what is shown".to_owned()));
    }
    let answer = runtime.block_on(log_level::ask(*pid, level.as_deref().unwrap_or_default()));
    match answer.map_err(|source| Error::NoOperator { pid: *pid, source })? {
        Ok(shown) => output::print(&format!("{shown}\n")),
        Err(refused) => Err(Error::Wrong(refused)),
    }
}
