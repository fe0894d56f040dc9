//! Claims: capacity that Nova was given for VMs that have not appeared yet.

use berth_scheduler::Claim;
use jiff::Timestamp;
use serde::Serialize;

use super::amounts::Amounts;
use super::table::{row, table};

const SHOWN: usize = 20;

/// A claim. `docs/commands.md` promises the names of its JSON members.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ClaimRow {
    pub(super) vm: String,
    pub(super) project: String,
    pub(super) host: String,
    pub(super) size: Amounts,
    /// It ends then at the latest.
    pub(super) until: Timestamp,
    /// The slot that the VM goes into.
    pub(super) slot: Option<String>,
}

impl From<&Claim> for ClaimRow {
    fn from(claim: &Claim) -> Self {
        Self {
            vm: claim.instance.to_string(),
            project: claim.project.to_string(),
            host: claim.host.to_string(),
            size: claim.size.into(),
            until: claim.until,
            slot: claim.slot.as_ref().map(|slot| slot.name.to_string()),
        }
    }
}

/// The claims as a table; empty if there are none.
pub(super) fn text(claims: &[ClaimRow]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let head = row(["VM", "PROJECT", "HOST", "SIZE", "UNTIL", "SLOT"]);
    let rows: Vec<_> = [head].into_iter().chain(claims.iter().take(SHOWN).map(cells)).collect();
    let more = claims.len().saturating_sub(SHOWN);
    let rest = if more == 0 { String::new() } else { format!("  ... and {more} more (-o json has all)\n") };
    format!("\nClaimed for VMs that have not appeared yet\n{}{rest}", table(&rows, &[]))
}

/// Callers choose the names of VMs and projects.
fn cells(claim: &ClaimRow) -> Vec<String> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        or_dash(&claim.vm),
        or_dash(&claim.project),
        claim.host.clone(),
        claim.size.format(),
        claim.until.to_string(),
        or_dash(claim.slot.as_deref().unwrap_or_default()),
    ]
}
