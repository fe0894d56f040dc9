//! Rows of the tables as values. Any text is a row: what cannot be understood is empty, and the row counts.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use berth_core::flavor::Flavor;
use berth_core::{FlavorName, HostName, ProjectId, Zone};
use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use tracing::warn;

use crate::error::{ReadStep, VmSourceError};
use crate::snapshot::VmRow;

/// What is read at most: a table that is larger is the wrong one, and must not use up the memory of the process.
const MOST_ROWS: usize = 5_000_000;
const MOST_BYTES: usize = 2 << 30;
/// Characters of a text that cannot be parsed, in the log.
const SHOWN: usize = 100;
/// The operating system of a server whose row names none.
const UNKNOWN: &str = "unknown";

/// The columns of a server; `NULL` is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerColumns<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub status: &'a str,
    pub project: &'a str,
    pub created: &'a str,
    pub zone: &'a str,
    pub host: &'a str,
    pub flavor: &'a str,
    pub os_type: &'a str,
}

/// The columns of a flavor; `NULL` is the empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorColumns {
    pub id: String,
    pub name: String,
    pub vcpus: i64,
    pub ram: i64,
    pub disk: i64,
    pub extra_specs: String,
}

/// Collects servers. Texts that many of them have are kept once.
#[derive(Debug, Default)]
pub struct ServerRows {
    rows: Vec<VmRow>,
    texts: HashSet<Arc<str>>,
    bytes: usize,
}

impl ServerRows {
    pub fn add(&mut self, columns: &ServerColumns<'_>) -> Result<(), VmSourceError> {
        let ServerColumns { id, name, status, project, created, zone, host, flavor, os_type } = *columns;
        self.bytes += id.len() + name.len();
        let row = VmRow {
            id: id.into(),
            name: name.into(),
            project: ProjectId::new(self.shared(project)),
            status: self.shared(status),
            created: time(created),
            zone: Zone::new(self.shared(zone)),
            host: HostName::new(self.shared(host)),
            flavor: FlavorName::new(self.shared(flavor)),
            os_type: self.shared(if os_type.is_empty() { UNKNOWN } else { os_type }),
        };
        self.rows.push(row);
        self.check_size()
    }

    pub fn finish(mut self) -> Vec<VmRow> {
        self.rows.shrink_to_fit();
        self.rows
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        self.bytes += text.len();
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    fn check_size(&self) -> Result<(), VmSourceError> {
        let limit = match (self.rows.len() > MOST_ROWS, self.bytes > MOST_BYTES) {
            (true, _) => format!("{MOST_ROWS} rows"),
            (false, true) => format!("{} MiB of texts", MOST_BYTES >> 20),
            (false, false) => return Ok(()),
        };
        Err(VmSourceError::TooLarge { step: ReadStep::Servers, limit })
    }
}

/// A time in the form of RFC 3339; `None` for any other text.
fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| time_at_end_of_calendar(text))
}

/// The first and the last day that can be written have moments that cannot be represented.
fn time_at_end_of_calendar(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    pieces.time().and(pieces.to_numeric_offset())?;
    match pieces.date().year() {
        9999 => Some(Timestamp::MAX),
        -9999 => Some(Timestamp::MIN),
        _ => None,
    }
}

/// The flavors by name. Of several with one name the one with the smallest id counts.
pub fn flavors_of(mut columns: Vec<FlavorColumns>) -> Vec<Flavor> {
    columns.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    columns.dedup_by(|later, first| later.name == first.name);
    let mut unreadable = Unreadable::default();
    let flavors = columns.into_iter().map(|columns| flavor(columns, &mut unreadable)).collect();
    unreadable.log();
    flavors
}

fn flavor(columns: FlavorColumns, unreadable: &mut Unreadable) -> Flavor {
    let FlavorColumns { name, vcpus, ram, disk, extra_specs, .. } = columns;
    let unsigned = |number: i64| u64::try_from(number).unwrap_or_default();
    let extra_specs = if extra_specs.is_empty() { BTreeMap::new() } else { unreadable.parsed(&name, &extra_specs) };
    Flavor {
        name: name.into(),
        vcpus: u32::try_from(unsigned(vcpus)).unwrap_or(u32::MAX),
        memory_mib: unsigned(ram),
        disk_gib: unsigned(disk),
        extra_specs,
    }
}

/// Extra specs that are no JSON objects of texts: one line for all of them.
#[derive(Default)]
struct Unreadable {
    count: usize,
    /// The first flavor, and the beginning of its text.
    first: Option<(String, String)>,
}

impl Unreadable {
    fn parsed(&mut self, flavor: &str, text: &str) -> BTreeMap<String, String> {
        serde_json::from_str(text).unwrap_or_else(|_| {
            self.count += 1;
            self.first.get_or_insert_with(|| (flavor.to_owned(), text.chars().take(SHOWN).collect()));
            BTreeMap::new()
        })
    }

    fn log(&self) {
        if let Some((flavor, extra_specs)) = &self.first {
            warn!(flavor, extra_specs, flavors = self.count, "extra specs of flavors ignored: no JSON object of texts");
        }
    }
}
