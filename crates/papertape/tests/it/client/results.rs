//! Unusual results of tools: against their own schema, of an unknown type, or invalid.

use papertape::Client;
use papertape::client::{ClientError, ErrorKind};
use papertape::protocol::{Content, Reference, Revision};
use serde_json::{Map, Value, json};

use super::{broken, lives_and_ends, not_opened, open, open_with, patient, run, text_of};

async fn result(client: &Client, tool: &str) -> Result<papertape::protocol::CallToolResult, ClientError> {
    client.call(tool, json!({})).await
}

const SPEAKS_OUTPUT: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

#[test]
fn a_result_is_validated_once_the_output_schema_is_known() {
    run(async {
        for revision in SPEAKS_OUTPUT {
            let client = open_with(&["odd-results"], patient().revision(revision)).await;
            // The tools have not been listed yet, so there is no schema.
            assert_eq!(
                result(&client, "output_breaks_schema").await.unwrap().structured_content.unwrap(),
                json!({"n": "one"})
            );
            client.tools().await.unwrap();

            let fine = result(&client, "output_fine").await.unwrap();
            assert_eq!(fine.structured_content.unwrap(), json!({"n": 1}));
            let error = result(&client, "output_breaks_schema").await.unwrap_err();
            let problem = broken(&error);
            assert!(problem.contains("violates the tool's output schema"), "{problem}");
            assert!(problem.contains("/n") && problem.contains("integer"), "{problem}");
            let bytes: Value = serde_json::from_slice(error.bytes().unwrap()).unwrap();
            assert_eq!(bytes["structuredContent"]["n"], "one");
            let error = result(&client, "output_missing").await.unwrap_err();
            assert!(broken(&error).contains("no `structuredContent`"), "{error}");
            let error = result(&client, "output_null").await.unwrap_err();
            assert!(broken(&error).contains("output schema"), "{error}");
            // A schema that only refers to itself says nothing, and above all does not end the client.
            drop(result(&client, "output_schema_loops").await);
            // A tool that failed need not keep its promise.
            let failed = result(&client, "output_missing_in_error").await.unwrap();
            assert!(failed.is_error);
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn revisions_without_structured_output_do_not_validate_it() {
    run(async {
        for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
            let client = open_with(&["odd-results"], patient().revision(revision)).await;
            client.tools().await.unwrap();
            for tool in ["output_breaks_schema", "output_missing", "output_null"] {
                assert!(result(&client, tool).await.is_ok(), "{tool}");
            }
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn readable_results_are_accepted() {
    run(async {
        for revision in SPEAKS_OUTPUT {
            let client = open_with(&["odd-results"], patient().revision(revision)).await;
            let failed = result(&client, "error").await.unwrap();
            assert!(failed.is_error);
            assert_eq!(text_of(&failed), "it failed");
            let any = result(&client, "output_not_an_object").await.unwrap();
            assert_eq!(any.structured_content.unwrap(), json!([1, 2]));
            assert!(result(&client, "content_empty").await.unwrap().content.is_empty());
            // Bytes are decoded on demand.
            let image = result(&client, "content_bad_base64").await.unwrap();
            assert!(
                matches!(&image.content[..], [Content::Image(image)] if image.data == "%%%"),
                "{image:?}"
            );
            assert_eq!(text_of(&result(&client, "type_absent").await.unwrap()), "absent");
            assert_eq!(text_of(&result(&client, "type_null").await.unwrap()), "null");
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn an_unreadable_result_fails_the_call_and_is_quoted() {
    run(async {
        for revision in Revision::ALL {
            let client = open_with(&["odd-results"], patient().revision(revision)).await;
            for tool in [
                "error_no_bool",
                "content_no_type",
                "content_no_text",
                "content_text_number",
                "content_strings",
                "content_missing",
                "content_null",
                "content_object",
                "result_null",
                "result_string",
                "result_array",
            ] {
                let error = match result(&client, tool).await {
                    Ok(result) => panic!("{tool} in {revision}: {result:?}"),
                    Err(error) => error,
                };
                assert!(broken(&error).starts_with("the result is invalid: "), "{tool}: {error}");
                assert_eq!(error.operation(), format!("calling the tool \"{tool}\""));
                assert_eq!(error.stage(), "the response arrived");
                serde_json::from_slice::<Value>(error.bytes().unwrap()).unwrap();
            }
            lives_and_ends(client).await;
        }
    });
}

// M-17
#[test]
fn an_unknown_result_type_is_an_error_in_modern_revisions() {
    run(async {
        let client = open(&["odd-results"]).await;
        for (tool, kind) in [("type_weird", "\"weird\""), ("type_number", "5")] {
            let error = result(&client, tool).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ResultType(value) if value == kind), "{error:?}");
            assert!(error.to_string().contains(kind), "{error}");
        }
        lives_and_ends(client).await;

        let client = open_with(&["odd-results"], super::legacy()).await;
        for tool in ["type_weird", "type_number"] {
            assert_eq!(text_of(&result(&client, tool).await.unwrap()), "weird");
        }
        lives_and_ends(client).await;
    });
}

// M-17
#[test]
fn a_result_of_an_unknown_kind_is_refused_on_every_method() {
    run(async {
        let client = open(&["odd-kind", "weird"]).await;
        let failed = [
            client.tools().await.map(drop),
            client.resources().await.map(drop),
            client.resource_templates().await.map(drop),
            client.prompts().await.map(drop),
            client.read("file:///a").await.map(drop),
            client.prompt("p", Map::new()).await.map(drop),
            client.complete(Reference::Prompt { name: "p".into() }, "a", "v", Map::new()).await.map(drop),
            client.ping().await,
            client.request("vendor/method", json!({})).await.map(drop),
            client.listen(papertape::client::SubscriptionFilter::new().tools()).await.map(drop),
        ];
        for (index, result) in failed.into_iter().enumerate() {
            let error = result.unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::ResultType(kind) if kind == "\"weird\""),
                "{index}: {error:?}"
            );
        }
        client.close().await;

        let error = not_opened(&["odd-kind", "weird", "server/discover"], patient()).await;
        assert!(matches!(error.kind(), ErrorKind::ResultType(kind) if kind == "\"weird\""), "{error:?}");
    });
}

#[test]
fn a_block_of_an_unknown_type_does_not_lose_the_result() {
    run(async {
        for revision in Revision::ALL {
            let client = open_with(&["odd-results"], patient().revision(revision)).await;
            let result = result(&client, "content_unknown_type").await.unwrap();
            let [Content::Unknown(block), Content::Text(text)] = &result.content[..] else {
                panic!("{result:?}")
            };
            assert_eq!((block.kind(), block.json()), ("hologram", r#"{"type":"hologram","angle":5}"#));
            assert_eq!(text.text, "beside it");
            lives_and_ends(client).await;
        }
    });
}
