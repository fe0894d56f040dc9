//! Suggests similar names for one that does not exist.

const NAMED: usize = 3;

/// The end of an error about an unknown name: the most similar names, or the number of names.
pub(super) fn hint<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let similar = similar(name, &known);
    match (similar.is_empty(), known.len()) {
        (false, _) => format!("; similar names: {}", similar.join(", ")),
        (true, 0) => "; there is none at all".to_owned(),
        (true, 1) => format!("; the only one is {}", known[0]),
        (true, count) => format!("; none of the {count} names is similar"),
    }
}

/// Those that hold the name, or differ in few places, the closest first.
fn similar<'n>(name: &str, known: &[&'n str]) -> Vec<&'n str> {
    let few = (name.chars().count() / 3).max(1);
    let distances = known.iter().map(|other| (strsim::levenshtein(name, other), *other));
    let near = |(distance, other): &(usize, &str)| *distance <= few || (!name.is_empty() && other.contains(name));
    let mut close: Vec<_> = distances.filter(near).collect();
    close.sort_unstable();
    close.into_iter().take(NAMED).map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first_and_others_are_counted() {
        let known = ["node001-bb01", "node002-bb01", "node021-bb01", "other"];
        assert_eq!(hint("node002-bb02", known), "; similar names: node002-bb01, node001-bb01, node021-bb01");
        assert_eq!(hint("021", known), "; similar names: node021-bb01");
        assert_eq!(hint("x", known), "; none of the 4 names is similar");
        assert_eq!(hint("x", ["other"]), "; the only one is other");
        assert_eq!(hint("x", []), "; there is none at all");
    }
}
