//! Findings about the bytes on stdout: PT01xx.

codes! {
    PT0101 Breaks "Text on stdout that is not a message"
}
