//! The figures as they stand in `docs/performance.md`: one row for each, what was to be reached and what was.

use std::fmt::Write as _;

/// What a slot may cost: its creation, and its status.
pub const WRITES_PER_SLOT: f64 = 2.0;
/// What a commitment may cost, with events.
pub const WRITES_PER_COMMITMENT: f64 = 4.0;

/// What is measured, and how that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The letter under which the document speaks of it.
    pub letter: char,
    /// What was done.
    pub what: String,
    /// One line each.
    pub goals: Vec<Goal>,
}

/// What was to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What was to be reached, in words.
    pub what: String,
    /// What was measured.
    pub found: String,
    /// Whether that is enough; `None` where nothing was to be reached, only to be told.
    pub met: Option<bool>,
    /// Whether the run fails without it: what is counted, not timed.
    pub must: bool,
}

impl Goal {
    /// A goal of time or memory, which other work on the machine may spoil.
    pub fn wanted(goal: impl Into<String>, found: impl Into<String>, met: bool) -> Self {
        Self { what: goal.into(), found: found.into(), met: Some(met), must: false }
    }

    /// A budget of something that is counted: the run fails when it is exceeded.
    pub fn budget(goal: impl Into<String>, found: impl Into<String>, met: bool) -> Self {
        Self { must: true, ..Self::wanted(goal, found, met) }
    }

    /// A figure without a goal.
    pub fn told(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), found: found.into(), met: None, must: false }
    }
}

/// The rows in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = "| | What | Goal | Measured | |\n|---|---|---|---|---|\n".to_owned();
    for Row { letter, what, goals } in rows {
        let (mut letter, mut what) = (letter.to_string(), what.as_str());
        for Goal { what: goal, found, met, .. } in goals {
            let met = met.map_or("", |met| if met { "met" } else { "**missed**" });
            // Cannot fail: it is a text.
            let _ = writeln!(text, "| {letter} | {what} | {goal} | {found} | {met} |");
            (letter, what) = (String::new(), "");
        }
    }
    text
}

/// The budgets that were exceeded, as one text each.
pub fn exceeded(rows: &[Row]) -> Vec<String> {
    let goals = rows.iter().flat_map(|row| row.goals.iter().map(move |goal| (row.letter, goal)));
    let broken = goals.filter(|(_, goal)| goal.must && goal.met == Some(false));
    broken.map(|(letter, goal)| format!("{letter}: {}: {}", goal.what, goal.found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let goals = vec![
            Goal::budget("at most 2 writes per slot", "3.00", false),
            Goal::wanted("at most 1.3 times", "1.40", false),
            Goal::told("CPU", "3 s"),
        ];
        vec![Row { letter: 'a', what: "many".to_owned(), goals }]
    }

    #[test]
    fn a_row_has_a_line_for_each_goal() {
        let expected = "| | What | Goal | Measured | |\n|---|---|---|---|---|\n\
                        | a | many | at most 2 writes per slot | 3.00 | **missed** |\n\
                        |  |  | at most 1.3 times | 1.40 | **missed** |\n\
                        |  |  | CPU | 3 s |  |\n";
        assert_eq!(table(&rows()), expected);
    }

    #[test]
    fn only_budgets_fail_the_run() {
        assert_eq!(exceeded(&rows()), ["a: at most 2 writes per slot: 3.00"]);
    }
}
