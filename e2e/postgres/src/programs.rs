//! Finds PostgreSQL's programs. Debian installs them by version, off the `PATH`; the newest is used.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

const DEBIAN: &str = "/usr/lib/postgresql";

/// The directory with initdb, postgres and psql.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|folder| fs::canonicalize(folder.join("initdb")));
    let others = others.filter_map(|program| Some(program.ok()?.parent()?.to_owned()));
    newest(Path::new(DEBIAN)).into_iter().chain(others).find(|folder| is_whole(folder)).ok_or(Error::Missing)
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let folders = numbers.map(|number| (number, versions.join(number.to_string()).join("bin")));
    folders.filter(|(_, folder)| is_whole(folder)).max().map(|(_, folder)| folder)
}

fn is_whole(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|program| folder.join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_is_whole_counts() {
        let versions = tempfile::tempdir().unwrap();
        for (version, programs) in
            [("9", &["initdb", "postgres", "psql"][..]), ("15", &["initdb", "postgres", "psql"]), ("16", &["psql"])]
        {
            let folder = versions.path().join(version).join("bin");
            fs::create_dir_all(&folder).unwrap();
            for program in programs {
                fs::write(folder.join(program), "").unwrap();
            }
        }
        assert_eq!(newest(versions.path()), Some(versions.path().join("15/bin")));
        assert_eq!(newest(&versions.path().join("absent")), None);
    }
}
