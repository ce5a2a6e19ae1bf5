//! Findings about what model APIs, SDKs and frameworks do not accept: PT05xx.

codes! {
    PT0501 Warning "Names that a model API refuses"
}
