//! Checks the language of the codebase: no words of `language.txt`, no references to texts that are not in the
//! repository, and no dead links.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod codebase;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

const LIST: &str = "e2e/suite/tests/language.txt";
const FOLDERS: [&str; 8] = ["crates", "e2e", "bench", "fuzz", "docs", "hack", "config", "charts"];
const PAGES: [&str; 4] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"];
const TYPES: [&str; 8] = ["rs", "md", "toml", "sh", "yaml", "json", "patch", "txt"];
/// The list itself, the glossary and the records of decisions contain refused words.
const FREE: [&str; 4] = [LIST, "e2e/suite/tests/codebase_language.rs", "docs/glossary.md", "docs/decisions/"];

struct Rules {
    texts: Vec<(Regex, String)>,
    names: BTreeMap<String, String>,
    exceptions: Vec<(String, Regex)>,
}

fn rules() -> Rules {
    let mut rules = Rules { texts: Vec::new(), names: BTreeMap::new(), exceptions: Vec::new() };
    let list = codebase::text(LIST);
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let [kind, first, second] = [(); 3].map(|()| columns.next().unwrap_or_else(|| panic!("{line}: three columns")));
        match kind {
            "text" => rules.texts.push((Regex::new(first).unwrap(), second.to_owned())),
            "name" => drop(rules.names.insert(first.to_owned(), second.to_owned())),
            "except" => rules.exceptions.push((first.to_owned(), Regex::new(second).unwrap())),
            other => panic!("{other} is no kind of rule"),
        }
    }
    rules
}

impl Rules {
    /// The problems of a file, with their lines.
    fn check(&self, path: &str, text: &str) -> Vec<String> {
        let mut text = text.to_owned();
        for (_, pattern) in self.exceptions.iter().filter(|(file, _)| file == path) {
            text = pattern.replace_all(&text, "").into_owned();
        }
        let mut wrong = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for (pattern, instead) in self.texts.iter().filter(|(pattern, _)| pattern.is_match(line)) {
                wrong.push(format!("{path}:{}: {line}\n  matches {pattern}; write: {instead}", number + 1));
            }
            if has_extension(path, "rs") {
                wrong.extend(self.check_names(line).map(|found| format!("{path}:{}: {found}", number + 1)));
            }
        }
        wrong
    }

    /// The words of the names that a line defines.
    fn check_names<'a>(&'a self, line: &'a str) -> impl Iterator<Item = String> + 'a {
        defined(line).into_iter().flat_map(move |name| {
            let words = words(&name);
            let refused = words.into_iter().filter_map(|word| Some((self.names.get(&word)?, word)));
            refused.map(|(instead, word)| format!("{name} has {word}; write: {instead}")).collect::<Vec<_>>()
        })
    }
}

static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:fn|struct|enum|trait|type|const|static|mod|let(?: mut)?) ([A-Za-z_]\w*)").unwrap()
});
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:pub(?:\([\w: ]+\))? )?([a-z_]\w*): [^:]").unwrap());
static PART: LazyLock<Regex> = LazyLock::new(|| Regex::new("[A-Z]?[a-z]+|[A-Z]+").unwrap());

/// The names of items, fields and bindings that a line of Rust defines.
fn defined(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    ITEM.captures_iter(code).chain(FIELD.captures(code)).map(|found| found[1].to_owned()).collect()
}

/// The words of `BoundedQueue` and `bounded_queue` are `bounded` and `queue`.
fn words(name: &str) -> Vec<String> {
    PART.find_iter(name).map(|found| found.as_str().to_lowercase()).collect()
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn files() -> Vec<String> {
    let is_text = |path: &String| TYPES.iter().any(|extension| has_extension(path, extension));
    let all = FOLDERS.iter().flat_map(|folder| codebase::files(folder)).map(|path| path.to_str().unwrap().to_owned());
    let pages = PAGES.iter().map(|page| (*page).to_owned());
    all.filter(is_text).chain(pages).filter(|path| !FREE.iter().any(|free| path.starts_with(free))).collect()
}

#[test]
fn no_text_has_a_refused_word() {
    let rules = rules();
    let wrong: Vec<_> = files().iter().flat_map(|path| rules.check(path, &codebase::text(path))).collect();
    assert!(wrong.is_empty(), "{} places:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn refused_words_are_found() {
    let rules = rules();
    for text in [
        "as document 20 says",
        "decided in U38",
        "no law is broken",
        "the brake holds",
        "let looks = 1;",
        "fn foresee() {}",
    ] {
        assert!(!rules.check("crates/a.rs", text).is_empty(), "{text}");
    }
    for text in ["X509 certificates", "look for the cause", "the field of a struct", "the journal of SQLite"] {
        assert!(rules.check("crates/a.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn each_exception_is_needed() {
    for (path, pattern) in rules().exceptions {
        assert!(pattern.is_match(&codebase::text(&path)), "{path} has nothing that matches {pattern}; remove the line");
    }
}

#[test]
fn relative_links_of_documents_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#\s]+)(?:#[^)]*)?\)").unwrap();
    let mut wrong = Vec::new();
    for page in
        files().into_iter().chain(codebase::files("docs").into_iter().map(|path| path.to_str().unwrap().to_owned()))
    {
        if !has_extension(&page, "md") {
            continue;
        }
        let folder = codebase::root().join(&page).parent().unwrap().to_owned();
        let text = codebase::text(&page);
        let targets = link.captures_iter(&text).map(|found| found[1].to_owned());
        let dead = targets.filter(|target| !target.contains("://") && !folder.join(target).exists());
        wrong.extend(dead.map(|target| format!("{page}: {target}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
