//! A service account of another control plane that this one accepts as well. Its token is a static one here, under its
//! original name, so that RBAC grants it the rights of that name.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Error, FromRefused as _};

#[derive(Debug, PartialEq)]
pub(crate) struct Guest {
    token: String,
    namespace: String,
    name: String,
}

impl Guest {
    /// The service account of a kubeconfig that [`crate::ControlPlane::service_account`] has written.
    pub(crate) fn read(kubeconfig: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(kubeconfig).map_err(Error::path("read", kubeconfig))?;
        let value = serde_json::from_str(&text).unwrap_or_default();
        Self::of(&value).ok_or_else(|| Error::NoServiceAccount { kubeconfig: kubeconfig.to_owned() })
    }

    fn of(kubeconfig: &Value) -> Option<Self> {
        let text = |path: &str| kubeconfig.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            token: text("/users/0/user/token")?,
            namespace: text("/contexts/0/context/namespace")?,
            name: text("/contexts/0/context/user")?,
        })
    }

    pub(crate) fn line(&self) -> String {
        let Self { token, namespace, name } = self;
        let user = format!("system:serviceaccount:{namespace}:{name}");
        format!("{token},{user},{user},\"system:serviceaccounts,system:serviceaccounts:{namespace}\"\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kubeconfig;

    #[test]
    fn a_guest_has_the_name_that_it_has_at_home() {
        let admin = kubeconfig::for_admin("https://127.0.0.1:1", Path::new("ca"), "secret");
        let guest = Guest::of(&kubeconfig::for_service_account(&admin, "harbour", "reader", "a.b.c")).unwrap();
        assert_eq!(
            guest.line(),
            "a.b.c,system:serviceaccount:harbour:reader,system:serviceaccount:harbour:reader,\
             \"system:serviceaccounts,system:serviceaccounts:harbour\"\n"
        );
        assert_eq!(Guest::of(&json!({ "users": [] })), None);
    }
}
