//! Findings about what model APIs, SDKs and frameworks do not accept: PT05xx.
//!
//! All of it is valid. A finding breaks if a model API or an SDK refuses it, and with it all tools of the request or list; it
//! is a warning if a framework cannot convert it, and a note if hosts handle it.

codes! {
    PT0501 Warning "Names that a model API refuses"
    PT0502 Note "Names that are too long behind the server's name"
    PT0503 Warning "A `type` that is a list"
    PT0504 Warning "`null` in an `enum`"
    PT0505 Note "`$ref` in an input schema"
    PT0506 Breaks "`anyOf`, `oneOf` or `allOf` at the top of an input schema"
    PT0507 Note "Schemas outside of OpenAI's strict mode"
    PT0508 Breaks "An array without `items`"
    PT0509 Breaks "A tuple in the form of draft-07"
    PT0510 Breaks "An argument whose schema is `true` or `false`"
    PT0511 Breaks "Names of arguments that a model API refuses"
    PT0512 Warning "An `enum` of other values than strings"
    PT0513 Note "`additionalProperties: false`"
    PT0514 Warning "A prompt with messages that are not text"
    PT0515 Warning "An argument without a type"
    PT0516 Warning "More tools than a request may have"
    PT0517 Note "An input schema without `properties`"
}
