//! What differs from OpenStack Placement 16, as one list: `docs/placement.md` shows it, and a test compares both. It decides
//! nothing; whoever makes the API differ adds a row, and whoever finds that it does not differ any more removes one.

/// One difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub about: &'static str,
    /// What Placement does.
    pub placement: &'static str,
    /// What is done here.
    pub here: &'static str,
    /// Why: a reason, or the place that decides it: a section of document 51 (19 is its list of defects) or a decision (D).
    pub why: &'static str,
}

/// A part of the API and its differences.
pub type Part = (&'static str, &'static [Difference]);

/// All of them, in the order of the documentation.
pub const DIFFERENCES: [Part; 5] = [
    ("Requests and errors", REQUESTS),
    ("Providers, classes and traits", PROVIDERS),
    ("Allocations", ALLOCATIONS),
    ("Allocation candidates", CANDIDATES),
    ("Running it", RUNNING),
];

const fn difference(about: &'static str, placement: &'static str, here: &'static str, why: &'static str) -> Difference {
    Difference { about, placement, here, why }
}

const REQUESTS: &[Difference] = &[
    difference(
        "401",
        "`message`, `code` and `title`, without headers of the version",
        "`errors[]` like every other error",
        "defect (51: 19 no. 21)",
    ),
    difference("`Vary`", "missing from some errors", "in every answer that has a version", "defect (51: 19 no. 21)"),
    difference(
        "Dumps in `detail`",
        "the whole schema and the instance in Python's words",
        "message, `Failed validating ...` and both paths are the same; the schema is shortened",
        "defect (51: 19 no. 22)",
    ),
    difference(
        "Causes in `detail`",
        "what Python's parsers say after `Malformed JSON: ` and `invalid version string: `",
        "other words there",
        "51: 1.2, 1.7",
    ),
    difference(
        "What is JSON",
        "also `NaN`, `Infinity` and half a surrogate pair",
        "RFC 8259 only, and no string with U+0000, which PostgreSQL cannot store: 400",
        "51: 1.7",
    ),
    difference(
        "Large requests",
        "bounded by the web server in front",
        "413 for bodies over 2 MiB, 414 for paths with queries over 60,000 bytes, 431 for heads over 96 KiB or with more than \
         100 headers, 400 for JSON nested deeper than 128 or with more than 200,000 values",
        "one client must not take the memory of others",
    ),
    difference(
        "A Content-Length that is no number, a header without a colon",
        "400 with `errors[]`; depends on the web server in front",
        "400 without a body, and the connection ends: the HTTP library answers before the API sees the request",
        "no HTTP client sends it",
    ),
    difference(
        "Overload, and a database that is away",
        "up to the web server; 500 without the database",
        "503 with `Retry-After: 1`; a request has 30 s",
        "clients know that they may try again (D9)",
    ),
    difference("Integers such as `1.0`", "answered as they were sent", "taken, and answered as `1`", "51: 1.7"),
    difference(
        "`limit=a&limit=1`",
        "500",
        "400: every value of a repeated parameter is checked",
        "defect (51: 19 no. 4)",
    ),
    difference("Names with a line break at the end", "`CUSTOM_A%0A` is a name", "400", "defect (51: 19 no. 16)"),
    difference(
        "Spellings of UUIDs",
        "paths and aggregates are compared as text; list and candidates take different spellings in `in_tree`",
        "spellings of one UUID are one key everywhere, and answered with lower case and dashes",
        "defect (51: 19 nos. 19, 20)",
    ),
    difference(
        "`X-Request-Id`",
        "not there",
        "in every answer, beside `X-Openstack-Request-Id`: the name in logs of HTTP",
        "as in every server of Berth",
    ),
];

const PROVIDERS: &[Difference] = &[
    difference("Amounts beyond 64 bits in `resources`", "500", "never fit", "defect (51: 19 no. 5)"),
    difference(
        "PUT of all inventories with a key that is no class name",
        "its record is not checked, 500 if it is malformed",
        "400",
        "defect (51: 19 no. 13)",
    ),
    difference(
        "PUT of a class from 1.7 with a quote in its name",
        "a JSON error",
        "400, the name does not match the pattern",
        "defect (51: 19 no. 18)",
    ),
    difference(
        "`name=startswith:` of traits",
        "SQL's LIKE: `_` and `%` are wildcards, and some databases ignore case",
        "the exact beginning",
        "defect (51: 19 no. 15)",
    ),
    difference(
        "Order of lists",
        "undefined",
        "providers by creation, traits by name; the same on every replica",
        "51: 4.3, 7",
    ),
];

const ALLOCATIONS: &[Difference] = &[
    difference(
        "A write that fails, or that gives a new consumer nothing",
        "leaves a consumer with generation 0 behind, also projects, users and consumer types",
        "leaves nothing: one transaction",
        "defect (51: 19 nos. 7, 8)",
    ),
    difference(
        "Claims that meet",
        "409 `placement.concurrent_update` after ten retries",
        "they wait for each other; 409 only for a generation that the request names, and for what does not fit",
        "locks in one order instead of retries",
    ),
    difference(
        "DELETE of allocations beside other writes",
        "not guarded",
        "one after the other",
        "defect (51: 19 no. 10)",
    ),
    difference(
        "Reshaper",
        "stores inventories whose `reserved` is more than `total`",
        "400 as for PUT of inventories",
        "defect (51: 19 no. 12)",
    ),
    difference(
        "Project and user of consumers before 1.8",
        "the options `incomplete_consumer_project_id` and `incomplete_consumer_user_id`",
        "always their default, 00000000-0000-0000-0000-000000000000",
        "51: 9.3",
    ),
    difference(
        "PUT of allocations before 1.8 for a consumer that has an owner",
        "replaces project and user without a word",
        "the same, with a warning in the log",
        "defect (51: 19 no. 9)",
    ),
];

const CANDIDATES: &[Difference] = &[
    difference(
        "A shared provider and several hosts",
        "the shared provider survives for one host, at random",
        "all pairs",
        "defect (51: 19 no. 1)",
    ),
    difference(
        "One class asked for by the unsuffixed and another group",
        "amounts leak from one request into another",
        "each request has its own sum",
        "defect (51: 19 no. 2)",
    ),
    difference("A sharing provider that is no root", "500", "a candidate like any other", "defect (51: 19 no. 3)"),
    difference(
        "State that a query sees",
        "several statements without a snapshot",
        "one state, at least as new as every write that was answered before the query came",
        "defect (51: 19 no. 25)",
    ),
    difference(
        "Order",
        "undefined",
        "oldest hosts first, then the choices of each group in the order of the query",
        "51: 12.4",
    ),
    difference(
        "Summaries before 1.29 with `limit`",
        "also of requests that were dropped",
        "those of the requests that are answered",
        "51: 12.5",
    ),
    difference(
        "Bounds",
        "none without `max_allocation_candidates`",
        "100,000 requests and 1,000,000 combinations: then 200 with what was found, or 503 `query too complex` if that is nothing",
        "a query must not take all time and memory",
    ),
    difference(
        "`randomize_allocation_candidates`",
        "shuffles all requests",
        "draws the order of hosts; the requests of one host keep theirs",
        "only what is answered is made",
    ),
    difference(
        "`optimize_for_wide_provider_trees`",
        "prunes while groups are combined, without regard to usage in some versions",
        "not an option: constraints are always checked while groups are combined",
        "defect (51: 19 no. 6)",
    ),
];

const RUNNING: &[Difference] = &[
    difference(
        "Authentication",
        "Keystone by default",
        "`off` by default, with a warning; Keystone is not part of this version",
        "D9",
    ),
    difference(
        "Policy file",
        "read anew when it changes; `http:` checks; `policy.d`",
        "read at start, one file; `http:` checks are refused, names that nothing asks for are warned of",
        "one file that is right or refused",
    ),
    difference(
        "Database",
        "MySQL, PostgreSQL or SQLite, `placement-manage db sync`",
        "PostgreSQL or SQLite, with a schema of its own that is made at start; a database of Placement cannot be taken over yet",
        "D7",
    ),
    difference(
        "Standard traits and classes",
        "those of the installed os-traits and os-resource-classes",
        "those that were compiled in; a newer name in the database is served as it is",
        "old and new servers run together during an upgrade",
    ),
    difference(
        "Where it is served",
        "under any path, with TLS, by a web server",
        "at the root of its address, without TLS: put a proxy before it; URLs in `Location` begin with `http://` and the `Host` \
         of the request",
        "a program of its own instead of an application of a web server",
    ),
    difference(
        "Other options of `placement.conf`",
        "as documented there",
        "the flags above are all there are",
        "they are about Python, or about retries that do not exist",
    ),
];

/// The tables of the documentation.
pub fn tables() -> String {
    let row = |Difference { about, placement, here, why }: &Difference| {
        format!("| {about} | {placement} | {here} | {why} |\n")
    };
    let table = |(part, differences): Part| {
        let rows: String = differences.iter().map(row).collect();
        format!("\n### {part}\n\n| About | Placement 16 | `berth placement` | Why |\n|---|---|---|---|\n{rows}")
    };
    DIFFERENCES.into_iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_shows_this_list() {
        let page = include_str!("../../../docs/placement.md");
        let section = page.split("\n## Differences from Placement\n").nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let shown = section.find("\n### ").map_or("", |at| &section[at..]);
        let tables = tables();
        assert!(
            shown == tables,
            "the tables of \"Differences from Placement\" in docs/placement.md must be:\n{tables}"
        );
    }

    #[test]
    fn each_difference_is_there_once_and_fits_into_a_table() {
        let all: Vec<&Difference> = DIFFERENCES.iter().flat_map(|part| part.1).collect();
        for one in &all {
            for cell in [one.about, one.placement, one.here, one.why] {
                assert!(!cell.is_empty() && !cell.contains(['|', '\n']) && !cell.contains("  "), "{cell:?}");
            }
            assert_ne!(one.placement, one.here);
            assert_eq!(all.iter().filter(|other| other.about == one.about).count(), 1, "{}", one.about);
        }
    }
}
