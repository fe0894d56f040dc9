//! Decides where an API listens. Without authentication that is loopback, unless the user allows other addresses.

use crate::address::Address;
use crate::error::HttpError;

/// How an API knows its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Callers authenticate.
    Authenticated,
    /// Every client may do everything, so the API is for this machine only.
    Open,
    /// The same, and the user allows it at every address.
    OpenEverywhere,
}

/// Where an API listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// The address that was set, or the default.
    Wanted(Address),
    /// Loopback instead of the default, because callers do not authenticate.
    LoopbackInstead(Address),
}

impl ListenAddress {
    pub fn address(&self) -> &Address {
        match self {
            Self::Wanted(address) | Self::LoopbackInstead(address) => address,
        }
    }

    /// The address itself.
    pub fn into_address(self) -> Address {
        match self {
            Self::Wanted(address) | Self::LoopbackInstead(address) => address,
        }
    }
}

impl Access {
    /// `allowed` is the flag `--insecure-api`.
    pub fn new(is_authenticated: bool, allowed: bool) -> Self {
        match (is_authenticated, allowed) {
            (true, _) => Self::Authenticated,
            (false, true) => Self::OpenEverywhere,
            (false, false) => Self::Open,
        }
    }

    /// Whether callers do not authenticate.
    pub fn is_open(self) -> bool {
        self != Self::Authenticated
    }

    /// The address of `api`, which is `set`, or else `default`. An open API at an address that was set and is not
    /// loopback is an error, which names `instead` as what to do.
    pub fn choose_address(
        self,
        api: &'static str,
        set: Option<Address>,
        default: Address,
        instead: &'static str,
    ) -> Result<ListenAddress, HttpError> {
        let (is_set, address) = (set.is_some(), set.unwrap_or(default));
        if self != Self::Open || address.is_loopback() {
            return Ok(ListenAddress::Wanted(address));
        }
        if is_set {
            return Err(HttpError::Open { api, address: address.to_string(), instead });
        }
        let host = Some("127.0.0.1".to_owned());
        Ok(ListenAddress::LoopbackInstead(Address { host, ..address }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(access: Access, set: Option<&str>) -> Result<ListenAddress, HttpError> {
        let set = set.map(|text| text.parse().unwrap());
        access.choose_address("scheduler", set, ":8080".parse().unwrap(), "do this")
    }

    fn wanted(text: &str) -> ListenAddress {
        ListenAddress::Wanted(text.parse().unwrap())
    }

    #[test]
    fn an_open_api_is_refused_at_every_address_but_loopback() {
        for text in [":8080", "0.0.0.0:8080", "[::]:8080", "10.0.0.7:0", "localhost.example:80", "[::ffff:10.0.0.7]:80"]
        {
            let refused = choose(Access::Open, Some(text)).unwrap_err().to_string();
            let line = "the scheduler API would answer every client without authentication at";
            assert_eq!(refused, format!("{line} {text}; do this"));
        }
        for text in ["127.0.0.1:8080", "127.9.9.9:80", "[::1]:8080", "localhost:8080", "[::ffff:127.0.0.1]:80"] {
            assert_eq!(choose(Access::Open, Some(text)).unwrap(), wanted(text));
        }
    }

    #[test]
    fn an_open_api_whose_address_is_not_set_opens_on_loopback() {
        let loopback = ListenAddress::LoopbackInstead("127.0.0.1:8080".parse().unwrap());
        assert_eq!(choose(Access::Open, None).unwrap(), loopback);
    }

    #[test]
    fn authentication_and_the_flag_of_the_user_open_every_address() {
        for access in [Access::new(true, false), Access::new(true, true), Access::new(false, true)] {
            assert_eq!(choose(access, None).unwrap(), wanted(":8080"));
            assert_eq!(choose(access, Some("0.0.0.0:80")).unwrap(), wanted("0.0.0.0:80"));
        }
        let open = [(false, false), (false, true), (true, true)].map(|(known, allowed)| Access::new(known, allowed));
        assert_eq!(open.map(Access::is_open), [true, true, false]);
    }
}
