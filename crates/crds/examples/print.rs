//! Prints all CRDs, or writes one file for each into the directory that is given. After `--optional` it does the same
//! for the optional CRDs.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use berth_crds::generate;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).peekable();
    let optional = arguments.next_if(|argument| argument == "--optional").is_some();
    let files = if optional { generate::optional_files()? } else { generate::files()? };
    let directory = arguments.next();
    for file in files {
        match &directory {
            Some(directory) => fs::write(Path::new(directory).join(file.name), file.text)?,
            None => print!("---\n{}", file.text),
        }
    }
    Ok(())
}
