//! The cores that a FlavorGroupCapacity reports.

use berth_core::{Cores, Quantity};
use thiserror::Error;

use crate::{FlavorGroupCapacity, resources};

/// A value in place of a number of cores that is not a number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("status.totalCapacity.cores is {0:?}, it must be a number of cores, 0 or more")]
pub struct NoTotal(pub String);

/// Cores of the empty data centre, rounded down; `None` if they have not been published yet. An invalid total is an
/// error, so that it is not used for a decision.
pub fn total_cores(object: &FlavorGroupCapacity) -> Result<Option<Cores>, NoTotal> {
    let status = object.status.as_ref();
    let Some(text) = status.and_then(|status| status.total_capacity.get(resources::CORES)) else { return Ok(None) };
    let total = Quantity::parse(text.as_str()).ok().filter(|total| !total.is_negative());
    let total = total.ok_or_else(|| NoTotal(text.as_str().to_owned()))?;
    Ok(Some(Cores::new(total.round_down())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: Option<&str>) -> Result<Option<Cores>, NoTotal> {
        let mut object = FlavorGroupCapacity::default();
        let map = &mut object.status.get_or_insert_default().total_capacity;
        map.extend(text.map(|text| (resources::CORES.to_owned(), text.into())));
        total_cores(&object)
    }

    #[test]
    fn total_of_zero_is_a_real_zero_and_an_absent_one_is_none() {
        assert_eq!(total_cores(&FlavorGroupCapacity::default()), Ok(None));
        assert_eq!((of(None), of(Some("0"))), (Ok(None), Ok(Some(Cores::ZERO))));
        assert_eq!(of(Some("319999m")), Ok(Some(Cores::new(319))), "capacity rounds down");
    }

    #[test]
    fn a_total_that_makes_no_sense_is_named() {
        for text in ["-5", "many"] {
            let why = of(Some(text)).unwrap_err().to_string();
            assert!(why.contains(text) && why.contains("status.totalCapacity.cores"), "{why}");
        }
    }
}
