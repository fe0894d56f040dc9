//! The figures in the format of `docs/performance.md`: one row for each, with the goal and the result.

use std::fmt::Write as _;

/// The budget of writes per slot: its creation, and its status.
pub const WRITES_PER_SLOT: f64 = 2.0;
/// The budget of writes per commitment, with events.
pub const WRITES_PER_COMMITMENT: f64 = 4.0;

/// A measurement and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The letter of the row in docs/performance.md.
    pub letter: char,
    pub what: String,
    pub goals: Vec<Goal>,
}

/// A goal and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub what: String,
    pub found: String,
    /// Whether the goal is met; `None` for a figure without a goal.
    pub met: Option<bool>,
    /// Whether the run fails if the goal is missed: true for counts, false for times.
    pub must: bool,
}

impl Goal {
    /// A goal of time or memory, which other load on the machine may spoil.
    pub fn wanted(goal: impl Into<String>, found: impl Into<String>, met: bool) -> Self {
        Self { what: goal.into(), found: found.into(), met: Some(met), must: false }
    }

    /// A budget of a count: the run fails when it is exceeded.
    pub fn budget(goal: impl Into<String>, found: impl Into<String>, met: bool) -> Self {
        Self { must: true, ..Self::wanted(goal, found, met) }
    }

    pub fn new(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), found: found.into(), met: None, must: false }
    }
}

pub fn table(rows: &[Row]) -> String {
    let mut text = "| | What | Goal | Measured | |\n|---|---|---|---|---|\n".to_owned();
    for Row { letter, what, goals } in rows {
        let (mut letter, mut what) = (letter.to_string(), what.as_str());
        for Goal { what: goal, found, met, .. } in goals {
            let met = met.map_or("", |met| if met { "met" } else { "**missed**" });
            // Cannot fail: the target is a string.
            let _ = writeln!(text, "| {letter} | {what} | {goal} | {found} | {met} |");
            (letter, what) = (String::new(), "");
        }
    }
    text
}

/// The exceeded budgets, as one text each.
pub fn exceeded(rows: &[Row]) -> Vec<String> {
    let goals = rows.iter().flat_map(|row| row.goals.iter().map(move |goal| (row.letter, goal)));
    let missed = goals.filter(|(_, goal)| goal.must && goal.met == Some(false));
    missed.map(|(letter, goal)| format!("{letter}: {}: {}", goal.what, goal.found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let goals = vec![
            Goal::budget("at most 2 writes per slot", "3.00", false),
            Goal::wanted("at most 1.3 times", "1.40", false),
            Goal::new("CPU", "3 s"),
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
