//! The requests that an API server counts (`apiserver_request_total`). Leases are counted apart, because they are
//! renewed whether or not anything happens.

use std::collections::BTreeMap;
use std::fmt;

const METRIC: &str = "apiserver_request_total{";
const WRITES: [&str; 6] = ["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"];
const QUESTIONS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];
const LEASES: &str = "leases";

/// One kind of write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The plural, with the subresource if there is one: `reservations/status`.
    pub resource: String,
    /// As HTTP calls it, such as `PATCH`; server-side apply is `APPLY`.
    pub verb: String,
    /// Whether it was refused: a status code of 400 or more.
    pub refused: bool,
}

/// The number of writes of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<Kind, u64>);

impl Requests {
    pub fn read(metrics: &str) -> Self {
        let mut all = Self::default();
        for line in metrics.lines().filter_map(|line| line.strip_prefix(METRIC)) {
            if let Some((kind, number)) = write(line) {
                *all.0.entry(kind).or_default() += number;
            }
        }
        all
    }

    /// The requests after an earlier state of the same server.
    pub fn since(&self, earlier: &Self) -> Self {
        let more = |(kind, now): (&Kind, &u64)| {
            let number = now.saturating_sub(earlier.0.get(kind).copied().unwrap_or_default());
            (number > 0).then(|| (kind.clone(), number))
        };
        Self(self.0.iter().filter_map(more).collect())
    }

    pub fn writes(&self) -> u64 {
        self.sum(|kind| kind.resource != LEASES)
    }

    pub fn leases(&self) -> u64 {
        self.sum(|kind| kind.resource == LEASES)
    }

    /// The writes of these plurals and their subresources.
    pub fn writes_of(&self, plurals: &[&str]) -> u64 {
        self.sum(|kind| plurals.contains(&kind.resource.split('/').next().unwrap_or_default()))
    }

    fn sum(&self, which: impl Fn(&Kind) -> bool) -> u64 {
        self.0.iter().filter(|(kind, _)| which(kind)).map(|(_, number)| number).sum()
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (Kind { resource, verb, refused }, number)) in self.0.iter().enumerate() {
            let (comma, refused) = (if place > 0 { ", " } else { "" }, if *refused { " refused" } else { "" });
            write!(f, "{comma}{verb} {resource}{refused} {number}")?;
        }
        Ok(())
    }
}

/// A sample without the metric's name; `None` if it is not about a write.
fn write(line: &str) -> Option<(Kind, u64)> {
    let (labels, number) = line.rsplit_once("} ")?;
    let label = |wanted: &str| {
        let mut pairs = labels.split("\",").filter_map(|pair| pair.split_once("=\""));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim_end_matches('"'))
    };
    let (verb, resource) = (label("verb")?, label("resource")?);
    let changes = WRITES.contains(&verb) && !QUESTIONS.contains(&label("group")?) && label("dry_run")?.is_empty();
    let resource = match label("subresource")? {
        "" => resource.to_owned(),
        sub => format!("{resource}/{sub}"),
    };
    let refused = label("code")?.parse::<u16>().is_ok_and(|code| code >= 400);
    changes.then(|| Some((Kind { resource, verb: verb.to_owned(), refused }, count(number)?)))?
}

/// Large numbers have the form `1.000123e+06`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counters are whole and not negative")]
fn count(number: &str) -> Option<u64> {
    number.trim().parse::<f64>().ok().map(|number| number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(code: u16, dry_run: &str, resource: &str, sub: &str, verb: &str, number: &str) -> String {
        let group = if resource == "subjectaccessreviews" { "authorization.k8s.io" } else { "cortex.cloud" };
        format!(
            "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"{dry_run}\",group=\"{group}\",\
             resource=\"{resource}\",scope=\"resource\",subresource=\"{sub}\",verb=\"{verb}\",version=\"v1alpha1\"}} \
             {number}\n"
        )
    }

    fn some() -> Requests {
        let lines = [
            "# TYPE apiserver_request_total counter\n".to_owned(),
            sample(201, "", "reservations", "", "POST", "10"),
            sample(200, "", "reservations", "", "POST", "1"),
            sample(409, "", "reservations", "", "POST", "2"),
            sample(200, "", "reservations", "status", "PATCH", "1.000010e+06"),
            sample(201, "All", "reservations", "", "POST", "50"),
            sample(200, "", "reservations", "", "LIST", "60"),
            sample(200, "", "leases", "", "PUT", "7"),
            sample(201, "", "subjectaccessreviews", "", "POST", "70"),
            "apiserver_request_terminations_total{code=\"429\",verb=\"POST\"} 80\n".to_owned(),
        ];
        Requests::read(&lines.concat())
    }

    #[test]
    fn writes_are_counted_by_kind_and_questions_are_not() {
        let all = some();
        assert_eq!(
            all.to_string(),
            "PUT leases 7, POST reservations 11, POST reservations refused 2, PATCH reservations/status 1000010"
        );
        assert_eq!((all.writes(), all.leases()), (1_000_023, 7));
        assert_eq!((all.writes_of(&["reservations"]), all.writes_of(&["events"])), (1_000_023, 0));
    }

    #[test]
    fn what_came_before_is_taken_away() {
        let later = Requests::read(&sample(201, "", "reservations", "", "POST", "15"));
        assert_eq!(later.since(&some()).to_string(), "POST reservations 4");
        assert_eq!(later.since(&later), Requests::default());
    }
}
