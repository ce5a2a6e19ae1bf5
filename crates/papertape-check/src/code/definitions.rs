//! Findings about definitions: PT04xx.

codes! {
    PT0401 Breaks "A tool without a name"
}
