//! The reason of a rejected change, as the customer reads it.

use std::fmt::Display;

use berth_core::text::escape_line;

/// Characters of the line of a commitment.
const LINE: usize = 300;

/// One line for each rejected commitment, with its UUID and the reason.
pub(crate) fn describe_rejection<U: Display>(rejected: &[(U, String)]) -> String {
    let lines = rejected.iter().map(|(uuid, why)| format!("\n- commitment {uuid}: {}", escape_line(why, LINE)));
    format!("{} commitment(s) failed to apply:{}", rejected.len(), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_has_a_line_for_each_commitment() {
        let why = "insufficient capacity: 8/9 reservation slots could be placed";
        let expected = format!("1 commitment(s) failed to apply:\n- commitment e71f9a60: {why}");
        assert_eq!(describe_rejection(&[("e71f9a60", why.to_owned())]), expected);
        assert_eq!(describe_rejection(&[("u", "a\nb".to_owned())]).lines().count(), 2);
    }
}
