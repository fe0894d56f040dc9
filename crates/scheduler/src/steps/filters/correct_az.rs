//! Keeps hosts of the wanted zone (document 60 section 5.2); a host without a zone is in none.

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct CorrectAz;

impl Filter for CorrectAz {
    fn name(&self) -> FilterName {
        super::name("filter_correct_az", "zone")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let zone = &run.request.zone;
        if zone.is_empty() {
            return Ok(Check::Skip);
        }
        let wanted = run.fleet.symbol(zone.as_str());
        Ok(Check::keep(move |candidate| wanted.is_some() && candidate.seen.is_some_and(|seen| seen.row.zone == wanted)))
    }
}
