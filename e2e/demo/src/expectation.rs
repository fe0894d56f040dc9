//! The committed end state: compared with the actual one, or updated.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_saphyr::SerializerOptions;

use crate::diff;
use crate::error::Error;

const HEAD: &str = "\
# What has become of the cloud in `cloud/` when all of `commitments/` have come to rest. `make run ONCE=1` compares its
# end state with this file, or with the one for CLUSTERS=2; together with UPDATE=1 it is written anew.
";

/// Compares, or writes the file; returns which of the two.
pub fn compare(state: &impl Serialize, path: &Path, update: bool) -> Result<&'static str, Error> {
    if update {
        self::update(state, path).map(|()| "written to")
    } else {
        compare_with(state, path).map(|()| "that of")
    }
}

/// Fails with the difference, if there is one.
fn compare_with(state: &impl Serialize, path: &Path) -> Result<(), Error> {
    let expected = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let found = text(state)?;
    if expected == found {
        return Ok(());
    }
    Err(Error::Different { path: path.to_owned(), diff: diff::lines(&expected, &found) })
}

fn update(state: &impl Serialize, path: &Path) -> Result<(), Error> {
    fs::write(path, text(state)?).map_err(Error::file("write", path))
}

fn text(state: &impl Serialize) -> Result<String, Error> {
    let mut options = SerializerOptions::default();
    // One line per value, so that a diff of two files is readable.
    options.prefer_block_scalars = false;
    let mut text = HEAD.to_owned();
    serde_saphyr::to_fmt_writer_with_options(&mut text, state, options)
        .map_err(|error| Error::Print(Box::new(error)))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end_state::{EndState, Host};
    use crate::quantity::Amounts;

    fn state(cpu: i64) -> EndState {
        let host = Host { name: "h".to_owned(), free: Amounts { memory: 1 << 30, cpu }, ..Host::default() };
        EndState { commitments: vec![], slots: vec![], hosts: vec![host] }
    }

    #[test]
    fn what_was_written_compares_as_equal_and_what_differs_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("end-state.yaml");
        update(&state(4), &path).unwrap();
        compare_with(&state(4), &path).unwrap();
        let error = compare_with(&state(5), &path).unwrap_err().to_string();
        assert!(error.contains("-  free: memory 1Gi, cpu 4\n+  free: memory 1Gi, cpu 5\n"), "{error}");
    }

    #[test]
    fn a_missing_expectation_is_named() {
        let error = compare_with(&state(4), Path::new("missing.yaml")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read missing.yaml: "), "{error}");
    }
}
