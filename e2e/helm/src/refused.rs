//! Values that cannot be installed: rendering has to fail, with a text that says what to do.

use crate::rendering::{DOCUMENTED, render};
use crate::{Error, Tools, checkout};

/// The sets of values in `refused` whose rendering does not fail with the text of their first line.
pub fn problems(tools: &Tools) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for path in checkout::yaml_files(&checkout::root().join("e2e/helm/refused"))? {
        let values = checkout::read(&path)?;
        let expected = values.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        match render(tools, &path, DOCUMENTED, &[]) {
            Ok(_) => found.push(format!("{} is not refused", path.display())),
            Err(Error::Failed { output, .. }) if output.contains(&expected) => {}
            Err(error) => {
                found.push(format!("{} is refused for another reason than {expected}: {error}", path.display()));
            }
        }
    }
    Ok(found)
}
