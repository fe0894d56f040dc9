//! Formats amounts as text and as JSON.

use berth_core::{Bytes, Cores, Resources, host};
use serde::Serialize;

/// Memory in bytes and vCPUs; `null` for unknown values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Amounts {
    pub(super) memory: Option<i64>,
    pub(super) cpu: Option<i64>,
}

impl From<host::Amounts> for Amounts {
    fn from(amounts: host::Amounts) -> Self {
        Self { memory: amounts.memory.map(Bytes::get), cpu: amounts.cpu.map(Cores::get) }
    }
}

impl From<Resources> for Amounts {
    fn from(size: Resources) -> Self {
        host::Amounts::from(size).into()
    }
}

impl Amounts {
    pub(super) fn memory(self) -> String {
        self.memory.map_or("unknown".to_owned(), memory)
    }

    pub(super) fn cpu(self) -> String {
        match self.cpu {
            None => "unknown".to_owned(),
            Some(i64::MAX) => "all".to_owned(),
            Some(cores) => cores.to_string(),
        }
    }

    pub(super) fn format(self) -> String {
        let cores = if self.cpu == Some(1) { "core" } else { "cores" };
        format!("{}, {} {cores}", self.memory(), self.cpu())
    }

    /// The amounts above zero, for a sentence; empty if there are none.
    pub(super) fn present(self) -> String {
        let memory = self.memory.filter(|bytes| *bytes > 0).map(|bytes| format!("{} of memory", memory(bytes)));
        let cpu = self.cpu.filter(|cores| *cores > 0);
        let cpu = cpu.map(|cores| format!("{cores} {}", if cores == 1 { "core" } else { "cores" }));
        memory.into_iter().chain(cpu).collect::<Vec<_>>().join(" and ")
    }
}

/// Bytes in the largest unit of which there is at least one, with at most one digit behind the point.
fn memory(bytes: i64) -> String {
    if bytes == i64::MAX {
        return "all".to_owned();
    }
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.into_iter().find(|(_, unit)| bytes.unsigned_abs() >= *unit) else {
        return if bytes == 0 { "0".to_owned() } else { format!("{bytes} B") };
    };
    let tenths = (u128::from(bytes.unsigned_abs()) * 10 + u128::from(unit) / 2) / u128::from(unit);
    let sign = if bytes < 0 { "-" } else { "" };
    match tenths % 10 {
        0 => format!("{sign}{} {name}", tenths / 10),
        tenth => format!("{sign}{}.{tenth} {name}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reported_in_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0"),
            (7, "7 B"),
            (1 << 30, "1 GiB"),
            (1920 << 30, "1920 GiB"),
            (-(5 << 30), "-5 GiB"),
            (3 << 29, "1.5 GiB"),
            (512 << 20, "512 MiB"),
            (i64::MAX, "all"),
            (i64::MIN, "-8589934592 GiB"),
        ] {
            assert_eq!(memory(bytes), text);
        }
    }

    #[test]
    fn what_is_there_is_reported_in_words() {
        let amounts = |memory, cpu| Amounts { memory, cpu };
        assert_eq!(amounts(Some(1 << 30), Some(1)).present(), "1 GiB of memory and 1 core");
        assert_eq!(amounts(Some(-1), Some(4)).present(), "4 cores");
        assert_eq!(amounts(None, Some(0)).present(), "");
        assert_eq!(amounts(None, Some(2)).format(), "unknown, 2 cores");
    }
}
