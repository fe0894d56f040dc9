//! The releases that are built, and how releases compare. Only `go/go.mod` names them.

use std::fmt;

/// The Go module that names kube-apiserver, etcd and kubectl as its tools.
pub(crate) const GO_MOD: &str = include_str!("../go/go.mod");

/// The checksums of all dependencies of the module.
pub(crate) const GO_SUM: &str = include_str!("../go/go.sum");

/// The releases that `go.mod` requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Release {
    /// Such as `v1.36.3`; also the release of kubectl.
    pub(crate) kubernetes: String,
    /// Such as `v3.6.8`.
    pub(crate) etcd: String,
    /// The oldest Go that builds them, such as `1.26.0`.
    pub(crate) go: String,
}

impl Release {
    /// The releases of the module in this crate.
    pub(crate) fn pinned() -> Self {
        Self {
            kubernetes: word_after(GO_MOD, "require k8s.io/kubernetes"),
            etcd: word_after(GO_MOD, "require go.etcd.io/etcd/server/v3"),
            go: word_after(GO_MOD, "go"),
        }
    }
}

/// The name of the directory in the cache: each release has its own.
impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-etcd-{}", self.kubernetes, self.etcd)
    }
}

/// Whether a release is not of an earlier minor version. A version that cannot be parsed, such as a development
/// version, is accepted.
pub(crate) fn is_at_least(found: &str, needed: &str) -> bool {
    match (minor(found), minor(needed)) {
        (Some(found), Some(needed)) => found >= needed,
        _ => true,
    }
}

/// The major and the minor number in texts such as `Kubernetes v1.36.3` and `go1.26.8`.
pub(crate) fn minor(text: &str) -> Option<(u32, u32)> {
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let mut numbers = digits.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn word_after(text: &str, start: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(start)?.strip_prefix(' '));
    line.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_mod_names_the_releases() {
        let release = Release::pinned();
        assert_eq!(minor(&release.kubernetes), Some((1, 36)));
        assert_eq!(minor(&release.etcd), Some((3, 6)));
        assert_eq!(minor(&release.go), Some((1, 26)));
        assert_eq!(release.to_string(), format!("{}-etcd-{}", release.kubernetes, release.etcd));
    }

    #[test]
    fn releases_compare_by_number() {
        assert!(is_at_least("Kubernetes v1.36.3", "v1.36.3"));
        assert!(is_at_least("Kubernetes v1.36.0", "v1.36.3"), "patches do not matter");
        assert!(is_at_least("go1.100.1", "1.26.0"));
        assert!(!is_at_least("Kubernetes v1.9.11", "v1.36.3"));
        assert!(is_at_least("devel", "1.26.0"));
    }
}
