//! `status.statusSummary`: one line for users.

use jiff::Timestamp;

use crate::commitment::{ResourceType, Spec};

/// The message that the summary omits, because it adds nothing to the reason.
pub const WAITING: &str = "waiting for reservation placement";
const MAX_MESSAGE: usize = 80;
const CUT_MESSAGE: usize = 77;

/// The parts of the line.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    pub reason: &'a str,
    pub message: &'a str,
    pub spec: &'a Spec,
    pub accepted: Option<&'a Spec>,
    pub vms: usize,
}

impl Summary<'_> {
    pub fn line(&self, now: Timestamp) -> String {
        [Some(self.reason_and_difference()), self.shown_message(), self.shown_vms(), self.expiry(now)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" · ")
    }

    fn reason_and_difference(&self) -> String {
        let differences = self.accepted.map(|accepted| differences(accepted, self.spec)).unwrap_or_default();
        if differences.is_empty() {
            self.reason.to_owned()
        } else {
            format!("{} ({})", self.reason, differences.join("; "))
        }
    }

    fn shown_message(&self) -> Option<String> {
        let wanted = match self.reason {
            "Rejected" => true,
            "Reserving" => self.message != WAITING,
            _ => false,
        };
        (wanted && !self.message.is_empty()).then(|| cut(self.message))
    }

    fn shown_vms(&self) -> Option<String> {
        (self.reason == "Accepted").then(|| match self.vms {
            1 => "1 VM".to_owned(),
            n => format!("{n} VMs"),
        })
    }

    fn expiry(&self, now: Timestamp) -> Option<String> {
        if self.reason == "Rejected" {
            return None;
        }
        let Some(end) = self.spec.end else { return Some("no expiry".to_owned()) };
        let left = end.duration_since(now);
        Some(if left.is_positive() { format!("exp in {}", two_units(left.as_secs())) } else { "expired".to_owned() })
    }
}

fn differences(accepted: &Spec, spec: &Spec) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |name: &str, old: String, new: String| {
        if old != new {
            all.push(format!("{name} {old}→{new}"));
        }
    };
    if accepted.amount != spec.amount {
        add("amount", amount(accepted), amount(spec));
    }
    add("fg", accepted.group.to_string(), spec.group.to_string());
    add("az", accepted.zone.to_string(), spec.zone.to_string());
    add("type", accepted.resource.to_string(), spec.resource.to_string());
    all
}

fn amount(spec: &Spec) -> String {
    match spec.resource {
        ResourceType::Memory => crate::quantity::binary(spec.amount.round_up()),
        ResourceType::Cores => crate::quantity::decimal(spec.amount.round_up()),
    }
}

fn cut(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let end = (0..=CUT_MESSAGE).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", &message[..end])
}

/// A span of time in its two largest units, for example `2d 1h`.
pub fn two_units(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, spec};

    fn line(reason: &str, message: &str, end: Option<i64>, accepted: Option<&Spec>, vms: usize) -> String {
        let spec = Spec { end: end.map(at), ..spec("96Gi") };
        Summary { reason, message, spec: &spec, accepted, vms }.line(at(0))
    }

    #[test]
    fn summaries_by_reason_and_state() {
        let insufficient = "insufficient capacity: 1/4 reservation slots could be placed";
        assert_eq!(line("Accepted", "", Some(49 * 3600 + 59 * 60), None, 2), "Accepted · 2 VMs · exp in 2d 1h");
        assert_eq!(
            line("Accepted", "", None, Some(&spec("60Gi")), 0),
            "Accepted (amount 60Gi→96Gi) · 0 VMs · no expiry"
        );
        assert_eq!(line("Reserving", WAITING, Some(61), None, 0), "Reserving · exp in 1m 1s");
        assert_eq!(line("Reserving", insufficient, None, None, 0), format!("Reserving · {insufficient} · no expiry"));
        assert_eq!(
            line("Rejected", &"x".repeat(90), Some(5 * 3600), None, 0),
            format!("Rejected · {}...", "x".repeat(77))
        );
        assert_eq!(line("expired", "", Some(-1), None, 0), "expired · expired");
        assert_eq!(line("Planned", "", Some(59), None, 0), "Planned · exp in 59s");
    }

    #[test]
    fn messages_show_what_differs() {
        let year = Some(363 * 86_400 + 20 * 3600);
        assert_eq!(line("Accepted", "", year, None, 3), "Accepted · 3 VMs · exp in 363d 20h");
        let cores = "insufficient CPU cores: 10 available, 64 requested";
        assert_eq!(line("Rejected", cores, None, None, 0), format!("Rejected · {cores}"));
    }

    #[test]
    fn differences_are_listed_in_a_fixed_order() {
        let accepted = Spec { group: "beryl".into(), zone: "az-b".into(), ..spec("1440Gi") };
        assert_eq!(
            line("Reserving", WAITING, None, Some(&accepted), 0),
            "Reserving (amount 1440Gi→96Gi; fg beryl→amber; az az-b→az-a) · no expiry"
        );
        assert_eq!(line("Accepted", "", None, Some(&spec("98304Mi")), 1), "Accepted · 1 VM · no expiry");
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let message = format!("{}→{}", "x".repeat(75), "y".repeat(20));
        assert_eq!(cut(&message), format!("{}...", "x".repeat(75)));
    }
}
