//! Numbers of any size: digit for digit from the client to a tool and back, or refused, and never rounded.

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::{RawJson, Revision};
use papertape::server::Tool;
use papertape::{Json, Server, memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{code, text_of};
use crate::peer::run;

const LARGEST: &str = "340282366920938463463374607431768211455";

/// Numbers of several types.
#[derive(Debug, Deserialize, JsonSchema)]
struct Numbers {
    #[serde(default)]
    whole: u128,
    #[serde(default)]
    double: f64,
    #[serde(default)]
    any: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Whole {
    whole: u128,
    negative: i128,
}

#[derive(Debug, Deserialize)]
struct Read {
    whole: u128,
}

fn server() -> Server {
    Server::new("numbers", "1")
        .tool("typed", async |numbers: Numbers, _| {
            Ok(format!("{} {} {}", numbers.whole, numbers.double, numbers.any))
        })
        .tool("whole", async |numbers: Numbers, _| {
            Ok(Json(Whole { whole: numbers.whole, negative: i128::MIN }))
        })
        .raw_tool(
            Tool::new("raw").description("Takes anything.").input_schema(json!({"type": "object"})),
            async |arguments: Value, _| Ok(arguments.to_string()),
        )
}

fn raw(json: &str) -> RawJson {
    RawJson::new(json).unwrap()
}

#[test]
fn a_tool_gets_every_digit_that_its_type_can_hold() {
    run(async {
        for revision in Revision::ALL {
            let client =
                memory::connect_with(server(), ClientOptions::new().revision(revision)).await.unwrap();
            let arguments = raw(&format!(r#"{{"whole": {LARGEST}, "double": 0.1}}"#));
            let result = client.call("typed", arguments).await.unwrap();
            assert_eq!(text_of(&result), format!("{LARGEST} 0.1 null"));
            // A double is what its type says.
            let result = client.call("typed", raw(&format!(r#"{{"double": {LARGEST}}}"#))).await.unwrap();
            assert_eq!(text_of(&result), format!("0 {} null", LARGEST.parse::<f64>().unwrap()));
            client.close().await;
        }
    });
}

#[test]
fn a_number_that_would_be_rounded_is_refused_by_name() {
    run(async {
        for number in
            [LARGEST, "18446744073709551616", "-9223372036854775809", "3.14159265358979323846264", "1e400"]
        {
            let client = memory::connect(server()).await.unwrap();
            for (tool, json) in [
                ("typed", format!(r#"{{"any": {{"deep": [{number}]}}}}"#)),
                ("raw", format!(r#"{{"a": {number}}}"#)),
            ] {
                let message = match client.call(tool, raw(&json)).await {
                    Ok(result) => {
                        assert!(result.is_error, "{result:?}");
                        text_of(&result).to_owned()
                    }
                    Err(error) => {
                        assert_eq!(code(&error), -32602, "{error}");
                        error.to_string()
                    }
                };
                assert!(message.contains(number), "{tool} {number}: {message}");
            }
            client.close().await;
        }
    });
}

#[test]
fn numbers_that_lose_nothing_are_not_refused() {
    run(async {
        let client = memory::connect(server()).await.unwrap();
        for (number, right) in [
            ("0.1", "0.1"),
            ("0.10000000000000000555", "0.1"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("100000000000000000000", "1e+20"),
        ] {
            let result = client.call("raw", raw(&format!(r#"{{"a":{number}}}"#))).await.unwrap();
            assert_eq!(text_of(&result), format!(r#"{{"a":{right}}}"#));
        }
        client.close().await;
    });
}

#[test]
fn a_structured_result_arrives_digit_for_digit() {
    run(async {
        for revision in Revision::ALL {
            let client =
                memory::connect_with(server(), ClientOptions::new().revision(revision)).await.unwrap();
            client.tools().await.unwrap();
            let result = client.call("whole", raw(&format!(r#"{{"whole": {LARGEST}}}"#))).await.unwrap();
            let right = format!(r#"{{"whole":{LARGEST},"negative":{}}}"#, i128::MIN);
            assert_eq!(text_of(&result), right);
            if let Some(structured) = &result.structured_content {
                assert_eq!(structured.get(), right);
                assert_eq!(structured.parse::<Read>().unwrap().whole, u128::MAX);
                assert!(structured.to_value().unwrap_err().to_string().contains(LARGEST));
            }
            client.close().await;
        }
    });
}

#[test]
fn any_request_has_numbers_of_any_size_as_text() {
    run(async {
        let client = memory::connect(server()).await.unwrap();
        let params = format!(r#"{{"name": "whole", "arguments": {{"whole": {LARGEST}}}}}"#);
        let result = client.request_raw("tools/call", raw(&params)).await.unwrap();
        assert!(result.get().contains(LARGEST), "{result}");
        let error = client.request_raw("tools/call", raw("[]")).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rpc(error) if error.code == -32602), "{error:?}");
        // A tree of values cannot hold the result.
        let error =
            client.request("tools/call", json!({"name": "whole", "arguments": {}})).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Inexact(number) if number.0 == i128::MIN.to_string()),
            "{error:?}"
        );
        client.close().await;
    });
}
