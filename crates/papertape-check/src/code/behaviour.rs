//! Findings about behaviour: PT06xx.

codes! {
    PT0601 Breaks "An exit during a call"
    PT0602 Breaks "An exit at bad input"
    PT0603 Breaks "No responses after bad input"
    PT0604 Warning "Arguments are not validated"
    PT0605 Warning "An error that is reported as a success"
    PT0606 Warning "An unknown tool that succeeds"
    PT0607 Warning "An unknown method that is not refused"
    PT0608 Warning "A call that blocks all other requests"
    PT0609 Note "A cancelled call that goes on"
    PT0610 Warning "A very large result"
    PT0611 Breaks "No structured content despite an output schema"
    PT0612 Breaks "Structured content that violates the output schema"
    PT0613 Breaks "Content that is not valid"
    PT0614 Warning "A subscription that is not acknowledged"
    PT0615 Note "What is listed cannot be read"
    PT0616 Warning "A valid call that is never answered"
}
