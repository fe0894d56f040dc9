//! The demonstration with the static binary of the image, which sees nothing but its own files.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod ending;

use berth_image::StaticBinary;

#[test]
fn two_clusters_one_of_them_away_for_a_while_end_as_committed_in_an_empty_root() {
    let binary = StaticBinary::obtain().unwrap();
    ending::is_as_committed(2, &["--empty-root", "--operator", binary.path.to_str().unwrap()]);
}
