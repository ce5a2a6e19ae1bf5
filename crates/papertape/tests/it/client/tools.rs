//! Invalid tool definitions: each is listed, with its problems.

use papertape::client::ListEntry;
use papertape::protocol::ToolDefinition;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{broken, legacy, lives_and_ends, open, open_with, patient, run};

/// Every odd tool and the beginning of each problem it has.
const ODD: [(&str, &[&str]); 30] = [
    ("schema_missing", &["`inputSchema` is missing"]),
    ("schema_null", &["`inputSchema` is missing"]),
    ("schema_text", &["`inputSchema` is invalid: a schema must be a JSON object"]),
    ("schema_array", &["`inputSchema` is invalid: a schema must be a JSON object"]),
    ("schema_true", &["`inputSchema` is invalid: a schema must be a JSON object"]),
    ("schema_objekt", &["`inputSchema` is invalid: its `type` must be \"object\", got \"objekt\""]),
    ("schema_of_a_string", &["`inputSchema` is invalid: its `type` must be \"object\", got \"string\""]),
    ("schema_untyped", &["`inputSchema` is invalid: its `type` must be \"object\", got nothing"]),
    ("schema_bad_required", &["`inputSchema` is invalid: \"text\" is not of type \"array\" (at /required)"]),
    (
        "schema_unknown_dialect",
        &["`inputSchema` is invalid: the dialect \"https://example.com/mine\" is not supported"],
    ),
    ("ref_remote", &["`inputSchema` is invalid: "]),
    ("ref_missing", &["`inputSchema` is invalid: "]),
    ("ref_loop", &["`inputSchema` is invalid: "]),
    ("schema_deep", &[]),
    ("header_bad", &["`x-mcp-header` \"\\\"Bad Header\\\\r\\\\n\\\"\" is not a valid header name"]),
    ("header_empty", &["`x-mcp-header` \"\\\"\\\"\" is not a valid header name"]),
    (
        "header_of_an_object",
        &["`x-mcp-header` \"\\\"Region\\\"\" is on a value that is not a string, integer or boolean"],
    ),
    ("header_twice", &["`x-mcp-header` "]),
    ("output_schema_text", &["`outputSchema` is invalid: a schema must be a JSON object"]),
    ("name_missing", &["missing field `name`"]),
    ("name_number", &["`name` is invalid: invalid type: integer `5`, expected a string"]),
    ("name_empty", &["`name` is empty"]),
    ("name_strange", &[]),
    ("name_long", &[]),
    ("title_number", &["`title` is invalid: invalid type: integer `5`, expected a string"]),
    ("description_object", &["`description` is invalid: invalid type: map, expected a string"]),
    ("annotations_text", &["`annotations` is invalid: "]),
    ("tool_null", &["invalid type: null"]),
    ("tool_text", &["invalid type: string \"echo\""]),
    ("members_unknown", &[]),
];

/// Whether a tool has exactly these problems.
fn has_problems(tool: &ListEntry<ToolDefinition>, expected: &[&str]) -> bool {
    let fits = |(problem, beginning): (&String, &&str)| {
        problem.starts_with(*beginning) && (15..500).contains(&problem.len())
    };
    tool.problems.len() == expected.len() && tool.problems.iter().zip(expected).all(fits)
}

// C-27, S-53
#[test]
fn invalid_tools_are_listed_with_the_reason() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["odd-tools"], options).await;
            let tools = client.tools().await.unwrap();
            let (odd, usual) = tools.split_at(ODD.len());
            let wrong: Vec<_> = odd
                .iter()
                .zip(ODD)
                .filter(|(tool, (_, expected))| !has_problems(tool, expected))
                .map(|(tool, (odd, _))| (odd, &tool.problems))
                .collect();
            assert!(wrong.is_empty(), "{wrong:#?}");
            assert_eq!(usual.len(), 9);
            for tool in usual {
                assert_eq!(tool.problems, [""; 0], "{}", tool.item.name);
                assert_eq!(tool.raw.to_value().unwrap()["name"], tool.item.name);
            }
            lives_and_ends(client).await;
        }
    });
}

// C-27
#[test]
fn an_unusual_tool_definition_is_parsed_and_kept_whole() {
    run(async {
        let client = open(&["odd-tools"]).await;
        let tools = client.tools().await.unwrap();
        let tool = |odd: &str| {
            let index = ODD.iter().position(|(name, _)| *name == odd).unwrap();
            &tools[index]
        };
        // One invalid member does not affect the others.
        for odd in ["title_number", "description_object", "annotations_text"] {
            assert_eq!(tool(odd).item.name, odd);
            assert_eq!(tool(odd).item.input_schema["type"], "object");
        }
        assert_eq!(tool("name_number").item.description.as_deref(), Some("The tool name_number."));
        assert_eq!(tool("name_missing").item.description.as_deref(), Some("The tool name_missing."));
        assert_eq!(tool("schema_missing").item.input_schema, Value::Null);
        assert_eq!(tool("name_strange").item.name, "smörgås bord/\u{1b}[31m\n");
        assert_eq!(tool("name_long").item.name.len(), 10_000);
        assert_eq!(tool("members_unknown").raw.to_value().unwrap()["x-vendor"], json!({"kept": true}));
        assert_eq!(tool("name_number").raw.to_value().unwrap()["name"], 5);
        assert_eq!(tool("tool_null").raw, Value::Null);
        assert_eq!(tool("tool_text").raw, Value::from("echo"));
        // Names that terminals mind are called by the very same name.
        let error = client.call("smörgås bord/\u{1b}[31m\n", json!({})).await.unwrap_err();
        assert!(!error.to_string().contains('\u{1b}') && !error.to_string().contains('\n'), "{error}");
        lives_and_ends(client).await;
    });
}

// C-27, S-53
#[test]
fn a_schema_with_a_remote_reference_is_rejected() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/schema.json", listener.local_addr().unwrap());
        let client = open(&["odd-tools", "ref_remote", &url]).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.len(), 10);
        let [problem] = &tools[0].problems[..] else { panic!("{:?}", tools[0].problems) };
        assert!(problem.contains(&url) && problem.contains("is not fetched"), "{problem}");
        // It can be called all the same: the server knows what it means.
        assert!(client.call("ref_remote", json!({})).await.is_err());
        lives_and_ends(client).await;
        // A connection would be waiting here.
        let none = tokio::time::timeout(std::time::Duration::from_millis(1), listener.accept()).await;
        assert!(none.is_err(), "{none:?}");
    });
}

// S-53
#[test]
fn a_schema_that_is_too_deep_spoils_only_the_list_it_is_in() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["odd-tools", "schema_too_deep"], options).await;
            let error = client.tools().await.unwrap_err();
            assert!(broken(&error).contains("nested deeper than"), "{error}");
            lives_and_ends(client).await;
        }
    });
}
