//! The difference between two texts, line by line, for people.

/// Lines around a difference that are shown with it.
const CONTEXT: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit<'a> {
    Same(&'a str),
    Expected(&'a str),
    Found(&'a str),
}

/// Lines that are only in `expected` begin with `-`, those only in `found` with `+`, and some around them with a blank.
pub fn lines(expected: &str, found: &str) -> String {
    let edits = edits(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
    let mut text = Vec::new();
    let mut skipped = false;
    for (index, edit) in edits.iter().enumerate() {
        let near = &edits[index.saturating_sub(CONTEXT)..edits.len().min(index + CONTEXT + 1)];
        if near.iter().all(|edit| matches!(edit, Edit::Same(_))) {
            skipped = true;
            continue;
        }
        if skipped {
            text.push("...".to_owned());
        }
        skipped = false;
        text.push(match edit {
            Edit::Same(line) => format!(" {line}"),
            Edit::Expected(line) => format!("-{line}"),
            Edit::Found(line) => format!("+{line}"),
        });
    }
    text.join("\n")
}

/// Walks along the longest common subsequence.
fn edits<'a>(expected: &[&'a str], found: &[&'a str]) -> Vec<Edit<'a>> {
    let common = common(expected, found);
    let (mut e, mut f) = (0, 0);
    let mut edits = Vec::new();
    while e < expected.len() || f < found.len() {
        if e < expected.len() && f < found.len() && expected[e] == found[f] {
            edits.push(Edit::Same(expected[e]));
            (e, f) = (e + 1, f + 1);
        } else if f == found.len() || (e < expected.len() && common[e + 1][f] >= common[e][f + 1]) {
            edits.push(Edit::Expected(expected[e]));
            e += 1;
        } else {
            edits.push(Edit::Found(found[f]));
            f += 1;
        }
    }
    edits
}

/// How many lines the rests from each pair of lines on have in common, in order.
fn common(expected: &[&str], found: &[&str]) -> Vec<Vec<usize>> {
    let mut table = vec![vec![0; found.len() + 1]; expected.len() + 1];
    for e in (0..expected.len()).rev() {
        for f in (0..found.len()).rev() {
            table[e][f] =
                if expected[e] == found[f] { table[e + 1][f + 1] + 1 } else { table[e + 1][f].max(table[e][f + 1]) };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn only_the_surroundings_of_a_difference_are_shown() {
        let expected = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10";
        let found = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11";
        assert_eq!(lines(expected, found), "...\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n+11");
        assert_eq!(lines(expected, "1\n2\n3\n4\n6\n7\n8\n9\n10"), "...\n 2\n 3\n 4\n-5\n 6\n 7\n 8");
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(lines("a\nb", "a\nb"), "");
        assert_eq!(lines("", "a"), "+a");
        assert_eq!(lines("a", ""), "-a");
    }
}
