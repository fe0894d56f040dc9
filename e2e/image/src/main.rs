//! `berth-licences`: writes the file with the licences of all packages in the binary.

use std::error::Error as _;
use std::process::ExitCode;

use berth_image::licences;

fn main() -> ExitCode {
    let Err(error) = licences::write() else { return ExitCode::SUCCESS };
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    eprintln!("{error}{cause}");
    ExitCode::FAILURE
}
