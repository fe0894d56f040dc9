//! The licences of everything in the binary, in one text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::packages::{self, Package, Source};
use crate::{Error, checkout};

/// The file, in the root of the checkout.
pub const FILE: &str = "THIRD-PARTY-LICENSES.txt";

const HEAD: &str = "\
The program berth and its image contain the packages below, under these licences. Where a package offers a choice that includes
Apache-2.0, it is used under Apache-2.0. `make licences` writes this file.
";
/// What is in the binary without being a package: its name, its licence, and where the text is, if it needs one.
const OTHERS: [(&str, &str, Option<&str>); 3] = [
    ("the standard library of Rust", "Apache-2.0", None),
    ("musl, the C library", "MIT", Some("e2e/image/texts/musl.txt")),
    ("SQLite, which libsqlite3-sys contains: dedicated to the public domain by its authors", "none needed", None),
];
const APACHE: &str = "Apache-2.0";
/// The beginnings of the names of files with licences.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// Writes the file.
pub fn write() -> Result<(), Error> {
    let file = checkout().join(FILE);
    fs::write(&file, text()?).map_err(Error::file("write", &file))
}

/// What the file should be.
pub fn text() -> Result<String, Error> {
    let sources = packages::sources()?;
    let mut texts = Texts::default();
    let apache = read(&checkout().join("LICENSE"))?;
    for package in packages::of_all_targets()? {
        let Some(source) = sources.get(&package) else { return Err(Error::NoText(label(&package))) };
        for text in of_package(&package, source, &apache)? {
            texts.add(&text, format!("{} ({})", label(&package), source.licence));
        }
    }
    for (name, licence, file) in OTHERS {
        let text = match file {
            Some(file) => read(&checkout().join(file))?,
            None if licence == APACHE => apache.clone(),
            None => String::new(),
        };
        texts.add(&text, format!("{name} ({licence})"));
    }
    Ok(texts.render())
}

fn label(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// The texts that a package is used under, with its notices.
fn of_package(package: &Package, source: &Source, apache: &str) -> Result<Vec<String>, Error> {
    let files = files(&source.folder);
    if may_be_apache(&source.licence) {
        let notices = files.iter().filter(|file| begins_with(file, "notice"));
        let notices = notices.map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
        return Ok([vec![apache.to_owned()], notices].concat());
    }
    if files.is_empty() {
        return Err(Error::NoText(label(package)));
    }
    files.iter().map(|file| read(file)).collect()
}

/// Whether Apache-2.0 alone is one of the alternatives.
fn may_be_apache(licence: &str) -> bool {
    let is_plain = !licence.contains("AND") && !licence.contains('(');
    is_plain && licence.replace('/', " OR ").split(" OR ").any(|one| one.trim() == APACHE)
}

/// In the order of their names. Sources in C have a licence of their own, one folder down.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [folder.to_owned(), folder.join("jemalloc")] {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        found.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    found.retain(|path| NAMES.iter().any(|name| begins_with(path, name)));
    found.sort();
    found
}

fn begins_with(file: &Path, name: &str) -> bool {
    let own = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    own.starts_with(name) && file.extension().is_none_or(|extension| extension != "rs")
}

fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(Error::file("read", file))
}

/// Each text once, with what it is for.
#[derive(Default)]
struct Texts(BTreeMap<String, Vec<String>>);

impl Texts {
    fn add(&mut self, text: &str, of: String) {
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        self.0.entry(lines.join("\n").trim_matches('\n').to_owned()).or_default().push(of);
    }

    /// In the order of the first thing that each is for, with the most used one at the front.
    fn render(self) -> String {
        let mut entries: Vec<_> = self.0.into_iter().collect();
        entries.sort_by(|(_, one), (_, other)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        let mut rendered = HEAD.to_owned();
        for (text, of) in entries {
            let _ = write!(rendered, "\n{}\n{}\n\n{text}\n", "=".repeat(80), of.join("\n"));
        }
        rendered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apache_is_taken_where_it_is_offered_alone() {
        for licence in
            ["Apache-2.0", "MIT OR Apache-2.0", "MIT/Apache-2.0", "Apache-2.0 / MIT", "0BSD OR MIT OR Apache-2.0"]
        {
            assert!(may_be_apache(licence), "{licence}");
        }
        for licence in
            ["MIT", "Apache-2.0 AND ISC", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]
        {
            assert!(!may_be_apache(licence), "{licence}");
        }
    }

    #[test]
    fn a_text_is_there_once_with_all_that_it_is_for() {
        let mut texts = Texts::default();
        texts.add("the terms  \n\n", "a 1.0 (MIT)".to_owned());
        texts.add("other terms", "b 1.0 (ISC)".to_owned());
        texts.add("\nthe terms", "c 1.0 (MIT)".to_owned());
        let rule = "=".repeat(80);
        let expected =
            format!("{HEAD}\n{rule}\na 1.0 (MIT)\nc 1.0 (MIT)\n\nthe terms\n\n{rule}\nb 1.0 (ISC)\n\nother terms\n");
        assert_eq!(texts.render(), expected);
    }
}
