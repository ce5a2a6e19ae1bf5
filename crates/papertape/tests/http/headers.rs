//! MCP's own headers against the body they mirror: H-14 to H-18.

use serde_json::{Value, json};

use crate::fixture::Site;
use crate::request::Request;

fn echo() -> Request {
    Request::call(7, "echo", &json!({"text": "x"}))
}

fn mirror(arguments: &Value) -> Request {
    Request::call(7, "mirror", arguments)
}

#[track_caller]
fn mismatch(what: &str, answer: &crate::connection::Response) {
    assert_eq!(answer.error(), (400, -32020, json!(7)), "{what}: {}", answer.json());
}

// H-14, H-15
#[tokio::test]
async fn the_method_header_must_match_the_body() {
    let site = Site::start().await;
    for (what, request) in [
        ("none", echo().without("Mcp-Method")),
        ("another", echo().with("Mcp-Method", "tools/list")),
        ("upper case", echo().with("Mcp-Method", "Tools/Call")),
        ("empty", echo().with("Mcp-Method", "")),
        ("twice", echo().header("Mcp-Method", "tools/call")),
        ("twice and different", echo().header("Mcp-Method", "tools/list")),
        ("a list", echo().with("Mcp-Method", "tools/call, tools/call")),
        ("not ASCII", echo().with("Mcp-Method", "tools/cäll")),
    ] {
        mismatch(what, &site.ask(&request).await);
    }
    for name in ["mcp-method", "MCP-METHOD", "mCp-MeThOd"] {
        let mut bytes = String::from_utf8(echo().bytes()).unwrap();
        bytes = bytes.replace("mcp-method:", &format!("{name}:")).replace("mcp-name: ", "MCP-NAME:\t ");
        let mut wire = site.connect().await;
        wire.send(bytes).await;
        assert_eq!(wire.response().await.status, 200, "{name}");
    }
    // Unknown headers must not contradict themselves, either.
    mismatch("unknown", &site.ask(&Request::modern(7, "no/such", &json!({})).with("Mcp-Method", "x")).await);
}

// The Base64 form is for `Mcp-Name` and `Mcp-Param-*` alone: it would bypass a gateway that allows methods by name.
#[tokio::test]
async fn only_names_and_arguments_may_be_base64() {
    let site = Site::start().await;
    // tools/call, 2026-07-28
    mismatch("method", &site.ask(&echo().with("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?=")).await);
    let version = "=?base64?MjAyNi0wNy0yOA==?=";
    mismatch("version", &site.ask(&echo().with("MCP-Protocol-Version", version)).await);
    let session = site.session("2025-11-25").await;
    let ping = session.request(7, "ping", &json!({}));
    // 2025-11-25
    let version = ping.clone().with("MCP-Protocol-Version", "=?base64?MjAyNS0xMS0yNQ==?=");
    assert_eq!(site.ask(&version).await.status, 400);
    let id = data_encoding::BASE64.encode(session.id.as_bytes());
    let wrapped = ping.with("Mcp-Session-Id", format!("=?base64?{id}?="));
    assert_eq!(site.ask(&wrapped).await.status, 404);
}

// H-16, H-17
#[tokio::test]
async fn the_name_header_must_match_the_body() {
    let site = Site::start().await;
    let named = |value: &str| echo().with("Mcp-Name", value);
    let read = Request::modern(7, "resources/read", &json!({"uri": "note:one"}));
    let prompt = Request::modern(7, "prompts/get", &json!({"name": "hello"}));
    for request in [&read, &prompt, &echo()] {
        assert_eq!(site.ask(request).await.status, 200);
        mismatch("none", &site.ask(&request.clone().without("Mcp-Name")).await);
        mismatch("another", &site.ask(&request.clone().with("Mcp-Name", "x")).await);
        mismatch("twice", &site.ask(&request.clone().header("Mcp-Name", "echo")).await);
    }
    for fine in ["echo", "=?base64?ZWNobw==?=", "   echo\t "] {
        assert_eq!(site.ask(&named(fine)).await.status, 200, "{fine}");
    }
    for bad in [
        "=?base64?ZWNobw?=",
        "=?base64?ZWNo bw==?=",
        "=?base64?%%%?=",
        "=?base64?/w==?=",
        "=?BASE64?ZWNobw==?=",
        "=?base64?ZWNobw==",
        "=?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?=",
        "Echo",
        "echo\u{e4}",
        "echo,echo",
    ] {
        mismatch(bad, &site.ask(&named(bad)).await);
    }
    // A name that looks like the wrapping is found when it is wrapped, and not when it is not.
    let literal = "=?base64?ZWNobw==?=";
    let request = Request::call(7, literal, &json!({}));
    mismatch(literal, &site.ask(&request).await);
    let wrapped = request.with("Mcp-Name", "=?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?=");
    assert_eq!(site.ask(&wrapped).await.error(), (200, -32602, json!(7)));
}

// A name is a name, and not a number that may be written in many ways: a gateway that routes by it would be misled.
#[tokio::test]
async fn a_numeric_name_is_compared_as_text() {
    let site = Site::start().await;
    let request = Request::call(7, "1", &json!({}));
    assert_eq!(site.ask(&request).await.status, 200);
    for other in ["1.0", "01", "1e0", "+1", "1."] {
        mismatch(other, &site.ask(&request.clone().with("Mcp-Name", other)).await);
    }
}

// H-18
#[tokio::test]
async fn param_headers_must_match_the_arguments() {
    let site = Site::start().await;
    let region = json!({"region": "us west"});
    let count = |count: &str| mirror(&json!({"count": 42})).header("Mcp-Param-Count", count);
    let text = |text: &str| mirror(&region).header("mcp-param-region", text);
    let flag = json!({"inner": {"flag": true}});
    for (what, request) in [
        ("as it is", text("us west")),
        ("wrapped", text("=?base64?dXMgd2VzdA==?=")),
        ("a number", count("42")),
        ("the same number", count("42.0")),
        ("nothing", mirror(&json!({}))),
        ("null", mirror(&json!({"region": null}))),
        ("within", mirror(&flag).header("Mcp-Param-Flag", "true")),
        ("empty", mirror(&json!({"region": ""})).header("Mcp-Param-Region", "")),
        ("of another argument", text("us west").header("Mcp-Param-Other", "x")),
    ] {
        let answer = site.ask(&request).await;
        assert!(answer.status == 200, "{what}: {}", answer.json());
    }
    for (what, request) in [
        ("none", mirror(&region)),
        ("another", text("us east")),
        ("another case", text("US west")),
        ("bad base64", text("=?base64?dXMgd2VzdA?=")),
        ("bytes", text("us w\u{e4}st")),
        ("twice", text("us west").header("Mcp-Param-Region", "us west")),
        ("not there", mirror(&json!({})).header("Mcp-Param-Region", "")),
        ("null", mirror(&json!({"region": null})).header("Mcp-Param-Region", "null")),
        ("another number", count("43")),
        ("no number", count("forty-two")),
        ("hexadecimal", count("0x2a")),
        ("a truth", mirror(&flag).header("Mcp-Param-Flag", "1")),
        ("a loud truth", mirror(&flag).header("Mcp-Param-Flag", "True")),
    ] {
        mismatch(what, &site.ask(&request).await);
    }
}

// Numbers that a float cannot tell apart are different numbers, and digits in a string are not a number.
#[tokio::test]
async fn param_headers_are_compared_exactly() {
    let site = Site::start().await;
    let big = mirror(&json!({"count": 9_007_199_254_740_993_u64}));
    assert_eq!(site.ask(&big.clone().header("Mcp-Param-Count", "9007199254740993")).await.status, 200);
    for near in ["9007199254740992", "9007199254740994", "9007199254740993.0000001", "9.007199254740993e15"] {
        mismatch(near, &site.ask(&big.clone().header("Mcp-Param-Count", near)).await);
    }
    let digits = mirror(&json!({"region": "42"}));
    assert_eq!(site.ask(&digits.clone().header("Mcp-Param-Region", "42")).await.status, 200);
    for near in ["42.0", "042", "4.2e1", "+42"] {
        mismatch(near, &site.ask(&digits.clone().header("Mcp-Param-Region", near)).await);
    }
}
