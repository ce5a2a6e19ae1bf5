//! Findings about start: PT02xx.

codes! {
    PT0201 Breaks "The command is not found"
    PT0202 Breaks "The command cannot be executed"
    PT0203 Breaks "The server exits before it answers"
    PT0204 Breaks "The server never answers"
    PT0205 Breaks "The server listens on a port instead of stdin"
    PT0206 Note "The server starts slowly"
    PT0207 Note "The command is not found by hosts with a short PATH"
    PT0208 Breaks "The server exits in a session"
    PT0209 Breaks "A request that is never answered"
}
