//! Findings about definitions: PT04xx.

codes! {
    PT0401 Breaks "A tool or prompt without a name"
    PT0402 Breaks "An input schema that is not of an object"
    PT0403 Breaks "An input schema that is not valid JSON Schema"
    PT0404 Breaks "A `$ref` that leads nowhere, or back to itself"
    PT0405 Breaks "`required` as a boolean in a property"
    PT0406 Warning "`required` names an argument that does not exist"
    PT0407 Breaks "Two tools or prompts of the same name"
    PT0408 Warning "A tool without a description"
    PT0409 Breaks "A member of a definition has the wrong type"
    PT0410 Breaks "An output schema that clients refuse"
    PT0411 Breaks "A resource without a URI or a name"
    PT0412 Breaks "An invalid URI"
    PT0413 Warning "Two resources of the same URI"
    PT0414 Warning "An invalid URI template"
    PT0415 Breaks "Invalid arguments of a prompt"
    PT0416 Note "The size of the definitions"
    PT0417 Note "Arguments without descriptions"
    PT0418 Note "Resources or prompts without descriptions"
    PT0419 Breaks "A result without its list"
    PT0420 Warning "A list that does not end"
}
