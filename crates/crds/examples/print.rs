//! Prints all CRDs to standard output; with a directory as argument, writes one file for each into it.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args_os().nth(1);
    for file in berth_crds::generate::files()? {
        match &directory {
            Some(directory) => fs::write(Path::new(directory).join(file.name), file.text)?,
            None => print!("---\n{}", file.text),
        }
    }
    Ok(())
}
