//! The tests in `tests/` are about the codebase itself: dependencies between crates, files and documents, documentation
//! that matches the code, and sources of dependencies. This library is empty.
