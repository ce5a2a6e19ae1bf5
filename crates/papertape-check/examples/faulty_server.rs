//! A server that misbehaves in one named way per mode: what the tests of the check start.

fn main() -> std::io::Result<std::process::ExitCode> {
    papertape_testing::faulty::main()
}
