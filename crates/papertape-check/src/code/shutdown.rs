//! Findings about shutdown: PT07xx.

codes! {
    PT0701 Warning "The server ignores the end of its input"
    PT0702 Warning "The server ignores SIGTERM"
    PT0703 Warning "Processes are left behind"
    PT0704 Warning "Stderr is flooded"
    PT0705 Note "The server ends with an error"
}
