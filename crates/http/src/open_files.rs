//! The limit of open files of the process, and what follows from it for connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One of so many parts of the open files may be connections of one server.
const CONNECTION_PARTS: usize = 2;
/// Files that a process has open besides the connections of its APIs: its ledger, logs, runtimes and probes.
const OTHER_FILES: usize = 44;

/// Raises the soft limit of open files to the hard limit.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(error = %error, "cannot raise the limit of open files");
    }
    tracing::debug!(limit = limit(), "limit of open files");
}

/// The limit of open files that holds now.
pub(crate) fn limit() -> usize {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The connections of a server: as many as wanted, at most half of the open files, at most those that nothing else needs, and at
/// least one.
pub(crate) fn connection_limit(wanted: usize, open_files: usize) -> usize {
    wanted.min(open_files / CONNECTION_PARTS).min(open_files.saturating_sub(OTHER_FILES)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_use_at_most_half_of_the_open_files() {
        for (wanted, files, expected) in
            [(1024, 1_048_576, 1024), (1024, 1024, 512), (1024, 64, 20), (10, 64, 10), (1024, 1, 1), (8, usize::MAX, 8)]
        {
            assert_eq!(connection_limit(wanted, files), expected, "{wanted} of {files}");
        }
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_limit() {
        let hard = getrlimit(Resource::Nofile).maximum;
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, hard);
        assert_eq!(limit(), hard.and_then(|hard| usize::try_from(hard).ok()).unwrap_or(usize::MAX));
    }
}
