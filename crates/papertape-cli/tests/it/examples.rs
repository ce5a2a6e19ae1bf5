//! The example servers that tests start: `cargo test -p papertape-cli` does not build those of other crates.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// An example beside the binary under test, built if it is missing.
pub(crate) fn example(name: &str) -> PathBuf {
    static BUILD: Mutex<()> = Mutex::new(());
    let folder = Path::new(env!("CARGO_BIN_EXE_papertape")).parent().unwrap();
    let path = folder.join("examples").join(name);
    let built = BUILD.lock().expect("an example could not be built: see the first test that failed");
    if !path.exists() {
        let mut cargo = build(name, folder);
        let end = cargo.output().unwrap();
        let log = String::from_utf8_lossy(&end.stderr);
        assert!(path.exists(), "{} is missing and was not built by {cargo:?}:\n{log}", path.display());
    }
    drop(built);
    path
}

/// The command that builds an example into the folder of the binary under test, which is named for its profile.
fn build(name: &str, folder: &Path) -> Command {
    let package = match name {
        "by_hand" | "faulty" => "papertape",
        "bridged" => "papertape-bridge",
        _ => "papertape-examples",
    };
    let profile = match folder.file_name().and_then(|profile| profile.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--profile", profile, "--package", package]);
    cargo.args(["--example", name, "--target-dir"]).arg(folder.parent().unwrap());
    cargo
}
