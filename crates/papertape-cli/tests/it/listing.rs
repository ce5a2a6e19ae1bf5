//! `papertape list`: what a server offers, for people and for programs.

use serde_json::{Value, json};

use crate::process::run;
use crate::{against, canned, contains, document, opening, papertape, text};

const TEXT_SERVER: &str = "\
papertape-text VERSION Text tools (MCP 2026-07-28)

  Count words with word_count rather than by eye; echo is there to test a connection.

Tools (2)

  echo  Echo a text  (read-only)
    Return a text unchanged.
      text  required  text
                      The text to return.

  word_count  Count words  (read-only)
    Count the words of a text in any language. Numbers are words, punctuation and emoji are not, and
    scripts written without spaces, such as Chinese, Japanese and Thai, are divided by a dictionary.
      text  required  text
                      The text to count.
";

#[test]
fn a_list_is_readable_in_a_pipe() {
    let end = run(&mut papertape(["list", "text", "--probe", "60"]), "");
    assert_eq!(text(end.is_clean()), TEXT_SERVER.replace("VERSION", env!("CARGO_PKG_VERSION")));
    assert_eq!(end.log, "");
}

#[test]
fn arguments_are_shown_with_all_that_is_known_of_them() {
    let end = run(&mut papertape(["list", "grammar", "--probe", "60"]), "");
    let text = text(end.is_clean());
    contains(
        text,
        &[
            "papertape-grammar ",
            " English grammar tutor (MCP 2026-07-28)\n",
            "Tools (5)\n",
            "  conjugate  Conjugate a verb  (read-only)\n",
            "      tense   required  one of: infinitive, present simple, present_simple, past simple,\n",
            "      person  required  one of: 1st singular, 1sg, 2nd singular, 2sg, 3rd singular, 3sg\n",
            "      person        optional  one of: 1st singular, 1sg, 2nd singular, 2sg, 3rd singular, 3sg\n",
            "    returns  {infinitive: text, past_simple: text, past_participle: text}\n",
        ],
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100 && line.trim_end() == line), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn enumerations_and_members_are_described() {
    let schema = json!({
        "type": "object",
        "properties": {
            "order": {"oneOf": [{"const": "asc", "description": "Up."}, {"const": "desc", "description": "Down."}]},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "description": "Where."},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        },
        "$defs": {"Place": {"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "Its name."},
            "plain": {"type": "string"},
        }}},
    });
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let server = canned(&[opening(&json!({"tools": {}})), tools]);
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(&server), "");
    let right = "  t
      order          optional  one of: asc, desc
      place          optional  {city: text, plain?: text}, or null
                               Where.
      place.city     optional  text; required in place
                               Its name.
      place.plain    optional  text
      stops          optional  list of {city: text, plain?: text}
      stops[].city   optional  text; required in stops[]
                               Its name.
      stops[].plain  optional  text
";
    contains(text(end.is_clean()), &[right]);
}

#[test]
fn the_arguments_of_all_forms_are_listed() {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
            {"type": "object", "properties": {"kind": {"const": "label"}, "text": {"type": "string"}}, "required": ["kind", "text"]},
        ],
    });
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let server = canned(&[opening(&json!({"tools": {}})), tools]);
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(&server), "");
    let right = "  t
      kind    required  always circle, or always label
      radius  optional  number
      id      required  integer
      text    optional  text
";
    contains(text(end.is_clean()), &[right]);

    let schema = json!({"type": "object", "properties": {"shape": {"oneOf": schema["oneOf"]}}});
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let server = canned(&[opening(&json!({"tools": {}})), tools]);
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(&server), "");
    contains(
        text(end.is_clean()),
        &["shape.kind    optional  always circle, or always label; required in shape\n"],
    );
}

/// A server with a bit of everything.
fn varied() -> Vec<String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "How many."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "a_name_that_is_longer_than_most": {"$ref": "#/$defs/Place"},
        },
        "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
        "required": ["count"],
    });
    let tools = json!([
        {"name": "draw", "title": "Draw\u{1b}[2J", "description": "Draws.\nTwice.", "inputSchema": schema,
         "annotations": {"destructiveHint": true, "openWorldHint": true}},
        {"name": "broken", "description": 5},
    ]);
    let resources = json!([
        {"uri": "file:///a.md", "name": "a", "title": "Notes", "mimeType": "text/markdown", "size": 1234, "description": "My notes."},
        {"name": "without an address"},
    ]);
    let templates = json!([{"uriTemplate": "file:///{name}", "name": "any file"}]);
    let prompts = json!([{"name": "review", "description": "Reviews.", "arguments": [
        {"name": "language", "required": true, "description": "Which one."}, {"name": "tone", "title": "How it sounds"},
    ]}]);
    canned(&[
        opening(&json!({"tools": {}, "resources": {}, "prompts": {}})),
        json!({ "tools": tools }),
        json!({ "resources": resources }),
        json!({ "resourceTemplates": templates }),
        json!({ "prompts": prompts }),
    ])
}

const VARIED: &str = "\
canned 1 (MCP 2025-11-25)

Tools (2)

  draw  Draw⟦1b⟧[2J  (destructive, open world)
    Draws.
    Twice.
      count  required  integer from 1 to 9 (default: 3)
                       How many.
      tags   optional  list of text
      a_name_that_is_longer_than_most
             optional  {city: text}
      a_name_that_is_longer_than_most.city
             optional  text; required in a_name_that_is_longer_than_most

  invalid: broken
    `description` is invalid: invalid type: integer `5`, expected a string
    `inputSchema` is missing

Resources (2)

  file:///a.md  Notes  (text/markdown, 1,234 bytes)
    My notes.

  invalid: without an address
    missing field `uri`

Resource templates (1)

  file:///{name}  any file

Prompts (1)

  review
    Reviews.
      language  required  text
                          Which one.
      tone      optional  How it sounds

2 definitions are invalid: hosts may leave them out, or reject the server
";

#[test]
fn everything_is_listed_and_what_is_invalid_is_marked() {
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(varied()), "");
    assert_eq!(text(end.is_clean()), VARIED);
}

#[test]
fn a_list_can_be_a_document() {
    let words = ["list", "--revision", "2025-11-25", "--output", "json", "--"];
    let end = run(papertape(words).args(varied()), "");
    let document = document(end.is_clean());
    assert_eq!(document["revision"], "2025-11-25");
    assert_eq!(document["server"], json!({"name": "canned", "version": "1"}));
    assert_eq!(document["tools"][1], json!({"name": "broken", "description": 5}));
    assert_eq!(document["resources"][0]["size"], 1234);
    assert_eq!(document["resourceTemplates"][0]["name"], "any file");
    assert_eq!(document["prompts"][0]["name"], "review");
    let problems: Vec<(&Value, &Value, &Value)> = document["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| (&problem["in"], &problem["index"], &problem["name"]))
        .collect();
    let (tools, broken) = (json!("tools"), json!("broken"));
    let resources = (&json!("resources"), &json!(1), &json!("without an address"));
    assert_eq!(problems, [(&tools, &json!(1), &broken), (&tools, &json!(1), &broken), resources]);
    assert!(document.get("instructions").is_none() && document.get("error").is_none(), "{document}");
}

#[test]
fn a_list_that_is_refused_does_not_hide_the_others() {
    // The second response is not a list of resources.
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let prompts = json!({"prompts": [{"name": "p"}]});
    let offer = opening(&json!({"tools": {}, "resources": {}, "prompts": {}}));
    let server = canned(&[offer, tools, json!({}), json!({"resourceTemplates": []}), prompts]);
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(&server), "");
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    contains(text(&end), &["Tools (1)\n\n  t\n", "Prompts (1)\n\n  p\n"]);
    contains(
        &end.log,
        &["listing resources failed: the server violated the protocol: the result has no array `resources`"],
    );

    let words = ["list", "--revision", "2025-11-25", "--output", "json", "--"];
    let end = run(papertape(words).args(&server), "");
    assert_eq!((end.status.code(), end.log.as_str()), (Some(4), ""), "{end:?}");
    let document = document(&end);
    assert_eq!((&document["tools"][0]["name"], &document["prompts"][0]["name"]), (&json!("t"), &json!("p")));
    assert_eq!(document["error"]["kind"], "protocol");
}

#[test]
fn tools_are_listed_without_declared_capabilities() {
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let server = canned(&[opening(&json!({})), tools]);
    let end = run(papertape(["list", "--revision", "2025-11-25", "--"]).args(&server), "");
    contains(text(end.is_clean()), &["Tools (1)"]);
}

#[test]
fn ten_thousand_tools_are_listed() {
    let end = run(&mut against(&["list", "--output", "json"], &["many-tools"]), "");
    assert!(document(end.is_clean())["tools"].as_array().unwrap().len() >= 10_000);
}

#[test]
fn invalid_tools_are_listed() {
    let end = run(&mut against(&["list"], &["odd-tools"]), "");
    contains(
        text(&end),
        &[
            "  invalid: schema_missing\n    `inputSchema` is missing\n",
            "  invalid: (unnamed)\n",
            "  smörgås bord/⟦1b⟧[31m\n",
            "definitions are invalid: hosts may leave them out, or reject the server\n",
        ],
    );
    assert!(!text(&end).contains('\u{1b}'), "{end:?}");
}

#[test]
fn a_declared_but_unsupported_list_is_a_warning() {
    let end = run(&mut against(&["list"], &["declares-more"]), "");
    contains(text(end.is_clean()), &["Tools (9)\n"]);
    assert!(!text(&end).contains("Resources") && !text(&end).contains("Prompts"), "{end:?}");
    for list in ["resources", "resourceTemplates", "prompts"] {
        contains(&end.log, &[&format!("papertape: warning: listing {list} failed: ")]);
    }
    contains(&end.log, &["(-32601)", "left out, although the server declares the capability"]);

    let end = run(&mut against(&["list", "--output", "json"], &["declares-more"]), "");
    let document = document(end.is_clean());
    assert_eq!(end.log, "");
    let warnings = document["warnings"].as_array().unwrap();
    let lists: Vec<&Value> = warnings.iter().map(|warning| &warning["in"]).collect();
    assert_eq!(lists, ["resources", "resourceTemplates", "prompts"]);
    contains(warnings[0]["message"].as_str().unwrap(), &["listing resources failed: "]);
    assert!(document.get("error").is_none(), "{document}");
}

#[test]
fn a_newer_revision_of_the_server_is_reported() {
    let words = ["list", "--probe", "0.1"];
    let end = run(&mut against(&words, &["probe-too-late"]), "");
    contains(
        text(end.is_clean()),
        &["faulty probe-too-late 1.0.0 (MCP 2025-11-25; the server also offers 2026-07-28)\n"],
    );
    let words = ["list", "--probe", "0.1", "--output", "json"];
    let end = run(&mut against(&words, &["probe-too-late"]), "");
    let document = document(end.is_clean());
    assert_eq!(
        (&document["revision"], &document["newerRevision"]),
        (&json!("2025-11-25"), &json!("2026-07-28"))
    );
}

#[test]
fn tools_are_declared_for_the_apis_of_models() {
    let end = run(&mut papertape(["list", "text", "--probe", "60", "--as", "openai", "--strict"]), "");
    let tools = document(end.is_clean());
    let names: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["echo", "word_count"]);
    assert_eq!(tools[0]["function"]["strict"], true);
    assert_eq!(end.log, "");
    for (api, schema) in [
        ("openai-responses", "/0/parameters"),
        ("anthropic", "/0/input_schema"),
        ("gemini", "/0/functionDeclarations/0/parameters"),
    ] {
        let end = run(&mut papertape(["list", "text", "--probe", "60", "--as", api]), "");
        assert_eq!(document(end.is_clean()).pointer(schema).unwrap()["required"], json!(["text"]), "{api}");
    }
    for words in [&["--strict"][..], &["--strict", "--as", "anthropic"], &["--strict", "--as", "gemini"]] {
        let end = run(papertape(["list", "text"]).args(words), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        contains(&end.log, &["--as"]);
    }
}
