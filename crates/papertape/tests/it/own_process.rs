//! A test in a process of its own, where nothing else takes memory or holds a pipe.

use std::process::Command;

/// Set in a process that runs one test alone.
const ALONE: &str = "PAPERTAPE_TEST_ALONE";

/// The argument of this process, if it runs one test alone.
pub(crate) fn alone_at() -> Option<String> {
    std::env::var(ALONE).ok()
}

/// Runs a test in a process of its own, where nothing else takes memory. `name` is that of the test.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    if alone_at().is_some() {
        return test();
    }
    let end = crate::process::run(&mut again(name, ""), "");
    assert!(end.status.success() && String::from_utf8_lossy(&end.output).contains("1 passed"), "{end:?}");
}

/// The command line that runs one test alone, with an argument.
pub(crate) fn again(name: &str, argument: &str) -> Command {
    // Also when it has been rebuilt meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.args([name, "--exact"]).env(ALONE, argument);
    command
}
