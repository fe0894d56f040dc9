//! Reads policy files.

use std::path::Path;

use berth_openstack::policy::Policies;

use crate::error::Error;

/// The rules of a file in place of the defaults, or the defaults without a file.
pub(crate) fn read(defaults: Policies, file: Option<&Path>) -> Result<Policies, Error> {
    let Some(path) = file else { return Ok(defaults) };
    let wrong = |why: String| Error::Policies { path: path.to_owned(), why };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    defaults.with_file(&text).map_err(|error| wrong(error.to_string()))
}
