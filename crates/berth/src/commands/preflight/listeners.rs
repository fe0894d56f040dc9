//! The addresses of flags: whether they can be read, and opened at the moment.

use berth_cluster::chain;
use berth_http::{Address, HttpError};

use super::fact::{Fact, Listener};

/// Opens the address and closes it again. A port that the operating system chooses is always free.
pub(super) async fn try_listener(
    what: &'static str,
    flag: &'static str,
    address: Result<Option<Address>, HttpError>,
) -> Fact {
    let taken = match &address {
        Ok(Some(address)) if address.port != 0 => address.listen().await.err().map(|error| chain(&error)),
        _ => None,
    };
    Fact::Listener(Listener { what, flag, address: address.map_err(|error| chain(&error)), taken })
}
