//! The texts of answers. Clients match some of them.

use std::time::Duration;

use berth_core::CommitmentUuid;

/// Characters of a line that the scheduler or a controller has written.
const LINE: usize = 300;
/// Characters of the request id in the names of a dry run.
const SHORT_ID: usize = 8;

pub(super) const TOO_LARGE: &str = "request is too large to be applied in one step";
pub(super) const ZONE_BUSY: &str = "other changes of this availability zone are under way, please retry later";
pub(super) const OVERTAKEN: &str =
    "a commitment of this request was changed by another client at the same time, please retry later";
pub(super) const DELETED: &str = "the change was stopped by an operator, please retry later";
pub(super) const UNREADABLE_ANSWER: &str = "the answer of the leader cannot be read; try again";
pub(super) const API_SERVER_AWAY: &str = "the API server cannot be reached at the moment; try again";
pub(super) const NOT_IN_TIME: &str = "the change was not completed in time and is undone; try again";

pub(super) fn version_mismatch(asked: i64, current: i64) -> String {
    format!("Version mismatch: request version {asked}, current version {current}. Please refresh and retry.")
}

/// For everything that callers must not know more about.
pub(super) fn internal_error(id: &str) -> String {
    format!("internal error, request id {id}")
}

/// What a commitment waits for.
pub(super) fn waits(uuid: &CommitmentUuid, why: &str) -> String {
    format!("commitment {uuid} cannot be changed at the moment: {why}")
}

/// The reason of a rejected dry run. Each commitment is called a probe, with its number among the checked ones.
pub(super) fn dry_run_rejection(id: &str, rejected: &[(usize, String)]) -> String {
    let lines = rejected.iter().map(|(number, why)| format!("\n- dryrun-{id}-{number}: {}", line(why)));
    format!("dry run: {} probe(s) rejected:{}", rejected.len(), lines.collect::<String>())
}

pub(super) fn timeout(watch_timeout: Duration, waiting: usize) -> String {
    format!(
        "timeout reached while processing commitment changes: timeout after {} waiting for {waiting} CommittedResource CRD(s)",
        duration(watch_timeout)
    )
}

/// The beginning of the request id if it can be part of an object name, otherwise that of the generated one.
pub(super) fn short_id(id: &str, generated: &str) -> String {
    let is_valid = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let short = id.get(..SHORT_ID).filter(|short| is_valid(short));
    short.or_else(|| generated.get(..SHORT_ID)).unwrap_or_default().to_owned()
}

/// A duration as Go prints it: `15s`, `500ms`, `1m30s`, `1.5s`.
fn duration(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, nanos) {
        (0, 0) => "0s".to_owned(),
        (0, nanos) if nanos < 1_000 => format!("{nanos}ns"),
        (0, nanos) if nanos < 1_000_000 => format!("{}\u{b5}s", fraction(0, nanos, 1_000)),
        (0, nanos) => format!("{}ms", fraction(0, nanos, 1_000_000)),
        _ => {
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let hours_text = if hours > 0 { format!("{hours}h") } else { String::new() };
            let minutes_text = if seconds >= 60 { format!("{minutes}m") } else { String::new() };
            format!("{hours_text}{minutes_text}{}s", fraction(seconds % 60, nanos, 1_000_000_000))
        }
    }
}

/// `whole` and `nanos` in units of so many nanoseconds, without zeros at the end.
fn fraction(whole: u64, nanos: u32, unit: u32) -> String {
    let (whole, rest) = (whole + u64::from(nanos / unit), nanos % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = usize::try_from(unit.ilog10()).unwrap_or_default();
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

fn line(text: &str) -> String {
    berth_core::text::escape_line(text, LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        for (millis, text) in [
            (15_000, "15s"),
            (500, "500ms"),
            (90_000, "1m30s"),
            (1_500, "1.5s"),
            (0, "0s"),
            (3_600_000, "1h0m0s"),
            (10_050, "10.05s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        assert_eq!(duration(Duration::from_nanos(1)), "1ns");
        assert_eq!(duration(Duration::from_nanos(1_500)), "1.5\u{b5}s");
        assert_eq!(duration(Duration::from_micros(1_250)), "1.25ms");
    }

    #[test]
    fn a_rejected_dry_run_has_a_line_for_each_commitment() {
        assert_eq!(
            dry_run_rejection(
                "9f31c0de",
                &[(0, "insufficient capacity: 8/9 reservation slots could be placed".to_owned())]
            ),
            "dry run: 1 probe(s) rejected:\n- dryrun-9f31c0de-0: insufficient capacity: 8/9 reservation slots could be placed"
        );
    }

    #[test]
    fn a_line_stays_one_line() {}

    #[test]
    fn a_timeout_names_its_length_and_what_was_waited_for() {
        assert_eq!(
            timeout(Duration::from_secs(10), 2),
            "timeout reached while processing commitment changes: timeout after 10s waiting for 2 CommittedResource CRD(s)"
        );
    }

    #[test]
    fn the_request_id_names_a_dry_run_if_it_can_be_part_of_a_name() {
        let generated = "0a1b2c3d-rest";
        assert_eq!(short_id("9f31c0de-77aa-4c55-9d20-aa0000000001", generated), "9f31c0de");
        for id in ["req_1234567", "UPPERCASE", "short", "", "caf\u{e9}caf\u{e9}", "-abcdefg", "1234567-"] {
            assert_eq!(short_id(id, generated), "0a1b2c3d", "{id:?}");
        }
    }
}
