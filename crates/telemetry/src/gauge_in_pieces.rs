//! A gauge whose series are read and encoded in pieces, because there may be a hundred thousand of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::metric::Metric;

/// Some of the series of a gauge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesPiece {
    /// Label values and numbers.
    pub series: Vec<(Vec<String>, f64)>,
    /// Where the next piece begins; `None` if this is the last one.
    pub end: Option<String>,
}

type NextPiece = Arc<dyn Fn(Option<&str>) -> SeriesPiece + Send + Sync>;

/// The gauge, and the labels that all metrics of the process have.
#[derive(Clone)]
pub(crate) struct GaugeInPieces {
    pub(crate) metric: Metric,
    pub(crate) constant: Arc<BTreeMap<String, String>>,
    pub(crate) next_piece: NextPiece,
}

impl GaugeInPieces {
    /// The text of each piece; nothing without series.
    pub(crate) fn pieces(self) -> impl Iterator<Item = String> + Send {
        // Where the next piece begins: `Some(None)` at the beginning of the page, `None` after its end.
        let (mut next, mut has_head) = (Some(None::<String>), false);
        std::iter::from_fn(move || {
            let after = next.take()?;
            let SeriesPiece { series, end } = (self.next_piece)(after.as_deref());
            next = end.map(Some);
            let mut text = String::new();
            if !has_head && !series.is_empty() {
                text = self.head();
                has_head = true;
            }
            for (labels, value) in series {
                self.add_line(&mut text, &labels, value);
            }
            Some(text)
        })
    }

    fn head(&self) -> String {
        let Metric { name, help, .. } = self.metric;
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        format!("# HELP {name} {help}\n# TYPE {name} gauge\n")
    }

    /// Labels are in the order of their names, and before those of the process.
    fn add_line(&self, text: &mut String, values: &[String], value: f64) {
        let Metric { name, labels, .. } = self.metric;
        let mut pairs: Vec<(&str, &str)> = labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
        pairs.sort_unstable();
        pairs.extend(self.constant.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        text.push_str(name);
        let mut separator = '{';
        for (label, value) in pairs {
            text.push(separator);
            // Cannot fail: the target is a string.
            let _ = write!(text, "{label}=\"");
            add_escaped(text, value);
            text.push('"');
            separator = ',';
        }
        let _ = if separator == ',' { writeln!(text, "}} {value}") } else { writeln!(text, " {value}") };
    }
}

fn add_escaped(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Kind, Metrics};

    const USED: Metric = Metric { name: "used", kind: Kind::Gauge, labels: &["zone", "project"], help: "Used." };

    fn metrics(projects: usize) -> Metrics {
        let metrics = Metrics::new(&[("component".to_owned(), "berth".to_owned())].into()).unwrap();
        let piece = move |after: Option<&str>| {
            let from = after.map_or(0, |after| after.parse().unwrap());
            let to = projects.min(from + 2);
            let series = (from..to).map(|n| (vec!["a".to_owned(), format!("p{n}")], 1.5)).collect();
            SeriesPiece { series, end: (to < projects).then(|| to.to_string()) }
        };
        metrics.computed_in_pieces(&USED, piece).unwrap();
        metrics
    }

    #[test]
    fn all_pieces_together_are_one_family() {
        let head = "# HELP used Used.\n# TYPE used gauge\n";
        let line = |n: usize| format!("used{{project=\"p{n}\",zone=\"a\",component=\"berth\"}} 1.5\n");
        let expected: String = (0..5).map(line).collect();
        assert_eq!(metrics(5).render(), format!("{head}{expected}"));
        assert_eq!(metrics(5).pieces().filter(|piece| !piece.is_empty()).count(), 3, "two, two and one");
        assert_eq!(metrics(0).render(), "");
    }

    /// The encoder of the registry writes the same lines.
    #[test]
    fn the_format_is_that_of_other_gauges() {
        let values =
            vec![(vec!["a\\\"\n".to_owned(), "p".to_owned()], 3.0), (vec![String::new(), "é".to_owned()], -0.25)];
        let labels = [("component".to_owned(), "be\"rth".to_owned())].into();
        let [ours, theirs] = [true, false].map(|in_pieces| {
            let (metrics, values) = (Metrics::new(&labels).unwrap(), values.clone());
            if in_pieces {
                let piece = move |_: Option<&str>| SeriesPiece { series: values.clone(), end: None };
                metrics.computed_in_pieces(&USED, piece).unwrap();
            } else {
                metrics.computed(&USED, move || values.clone()).unwrap();
            }
            let mut lines: Vec<String> = metrics.render().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        });
        assert_eq!(ours, theirs);
    }
}
