//! Claims as text: a JSON list, one claim a line.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_core::quota::Amounts;
use berth_core::{Bytes, ClusterName, Cores, GroupName, HostName, ProjectId, Resources, SlotKey, VmId};
use berth_scheduler::{Claim, ClaimedQuota, HeldClaim};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    vm: VmId,
    #[serde(default)]
    project: ProjectId,
    host: HostName,
    memory: i64,
    cpu: i64,
    until: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slot: Option<Slot>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    listed: BTreeSet<HostName>,
    /// Absent in the claims of former versions, which then count in no quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quota: Option<Quota>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Quota {
    group: GroupName,
    ram: i64,
    cores: i64,
    instances: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Slot {
    cluster: ClusterName,
    name: String,
}

/// The claims in at most so many bytes, the youngest first, and how many of them do not fit.
pub(super) fn encode(mut claims: Vec<HeldClaim>, most: usize) -> (String, usize) {
    claims.sort_by(|a, b| (b.claim.until, &b.claim.instance).cmp(&(a.claim.until, &a.claim.instance)));
    let (mut text, mut fitting) = ("[".to_owned(), 0);
    for held in &claims {
        let Ok(line) = serde_json::to_string(&entry(held)) else { continue };
        // A comma, line breaks and the bracket.
        if text.len() + line.len() + 4 > most {
            break;
        }
        text.push_str(if fitting == 0 { "\n" } else { ",\n" });
        text.push_str(&line);
        fitting += 1;
    }
    text.push_str("\n]");
    (text, claims.len() - fitting)
}

fn entry(held: &HeldClaim) -> Entry {
    let Claim { instance, project, host, size, until, slot, quota, .. } = held.claim.clone();
    let quota = quota.map(|ClaimedQuota { group, amounts: Amounts { ram_gib: ram, cores, instances } }| Quota {
        group,
        ram,
        cores,
        instances,
    });
    let slot = slot.map(|slot| Slot { cluster: slot.cluster, name: slot.name.to_string() });
    let (memory, cpu, listed) = (size.memory.get(), size.cpu.get(), held.listed.clone());
    Entry { vm: instance, project, host, memory, cpu, until, slot, listed, quota }
}

/// Both clocks of a process at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// Monotonic time since the process began.
    pub(super) now: Duration,
    /// Unless it cannot be trusted.
    pub(super) time: Option<Timestamp>,
}

/// The claims that have not ended, and how many entries are no claims. None lasts for longer than `longest` from now
/// on, whatever another clock has written.
pub(super) fn decode(text: &str, clocks: Clocks, longest: Duration) -> (Vec<HeldClaim>, usize) {
    let Ok(lines) = serde_json::from_str::<Vec<serde_json::Value>>(text) else { return (Vec::new(), 1) };
    let all = lines.len();
    let entries: Vec<Entry> = lines.into_iter().filter_map(|line| serde_json::from_value(line).ok()).collect();
    let invalid = all - entries.len();
    (entries.into_iter().filter_map(|entry| held(entry, clocks, longest)).collect(), invalid)
}

fn held(entry: Entry, Clocks { now, time }: Clocks, longest: Duration) -> Option<HeldClaim> {
    let left = match time {
        Some(time) => Duration::try_from(entry.until.duration_since(time)).ok().filter(|left| !left.is_zero())?,
        None => longest,
    };
    let claim = Claim {
        instance: entry.vm,
        project: entry.project,
        host: entry.host,
        size: Resources::new(Bytes::new(entry.memory), Cores::new(entry.cpu)).at_least_zero(),
        expires: now.saturating_add(left.min(longest)),
        until: entry.until,
        slot: entry.slot.map(|slot| SlotKey::new(slot.cluster, slot.name.as_str())),
        quota: entry.quota.map(claimed_quota),
    };
    Some(HeldClaim { claim, listed: entry.listed })
}

fn claimed_quota(Quota { group, ram, cores, instances }: Quota) -> ClaimedQuota {
    ClaimedQuota { group, amounts: Amounts { ram_gib: ram.max(0), cores: cores.max(0), instances: instances.max(0) } }
}
