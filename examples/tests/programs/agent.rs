use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::mcp_json::{folder, run, texts};

const ORDER: &str = r#"{"items": [{"product": "teapot", "count": 2}]}"#;

/// An endpoint that plays responses, one for each request, the last one again and again, and keeps what it was sent.
#[derive(Clone)]
struct Endpoint {
    responses: Arc<Vec<(StatusCode, String)>>,
    requests: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
}

async fn play(State(endpoint): State<Endpoint>, headers: HeaderMap, body: String) -> impl IntoResponse {
    let mut requests = endpoint.requests.lock().unwrap();
    let response = endpoint.responses.get(requests.len()).or(endpoint.responses.last()).unwrap().clone();
    requests.push((headers, serde_json::from_str(&body).unwrap()));
    response
}

/// Runs the agent with an endpoint that plays these responses; returns the requests that it was sent, too.
async fn agent(responses: Vec<(StatusCode, String)>) -> (Output, Vec<(HeaderMap, Value)>) {
    let endpoint = Endpoint { responses: Arc::new(responses), requests: Arc::default() };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/chat/completions", post(play)).with_state(endpoint.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let folder = folder();
    let output = run(&folder, "agent", &["--base-url", &url, "--model", "m", "What do two pots cost?"]).await;
    serving.abort();
    let requests = endpoint.requests.lock().unwrap().clone();
    (output, requests)
}

fn message(message: &Value) -> (StatusCode, String) {
    (StatusCode::OK, json!({"choices": [{"message": message}]}).to_string())
}

/// A message of the model with calls.
fn calls(calls: &[(&str, &str)]) -> (StatusCode, String) {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": format!("call_{index}"), "type": "function", "function": function})
    });
    message(&json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Value>()}))
}

#[tokio::test]
async fn tools_are_called_until_the_model_answers() {
    let answer = message(&json!({"role": "assistant", "content": "They cost 84."}));
    let first = calls(&[("kiosk_quote", ORDER), ("shop_products", "")]);
    // A model that errs reads why.
    let second = calls(&[("kiosk_quote", "{\"items\""), ("kiosk_weigh", "{}")]);
    let (output, requests) = agent(vec![first, second, answer]).await;
    let (stdout, stderr) = texts(&output);
    assert_eq!(stdout, "They cost 84.\n", "{stderr}");
    assert!(stderr.contains("gone: ") && stderr.contains(&format!("kiosk_quote {ORDER}")), "{stderr}");

    assert_eq!(requests.len(), 3);
    for (headers, request) in &requests {
        assert_eq!(headers["authorization"], "Bearer key-1");
        assert_eq!((&request["model"], request["tools"].as_array().unwrap().len()), (&json!("m"), 4));
        assert_eq!(request["messages"][0], json!({"role": "user", "content": "What do two pots cost?"}));
    }
    let messages = requests[2].1["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "tool", "tool"]);
    assert_eq!(
        (&messages[2]["tool_call_id"], &messages[3]["tool_call_id"]),
        (&json!("call_0"), &json!("call_1"))
    );
    assert!(messages[2]["content"].as_str().unwrap().contains("\"goods_cents\":8400"), "{}", messages[2]);
    assert_eq!(messages[3]["content"], r#"["green tea","teapot"]"#);
    assert!(messages[5]["content"].as_str().unwrap().starts_with("Error: the arguments are not valid JSON"));
    assert!(messages[6]["content"].as_str().unwrap().contains("weigh"), "{}", messages[6]);
}

#[tokio::test]
async fn a_model_that_never_answers_is_stopped() {
    let (output, requests) = agent(vec![calls(&[("shop_products", "{}")])]).await;
    assert!(!output.status.success() && texts(&output).1.contains("no answer after 20 rounds"));
    assert_eq!(requests.len(), 20);
}

#[tokio::test]
async fn what_the_endpoint_says_is_shown() {
    let refused = (StatusCode::UNAUTHORIZED, r#"{"error": {"message": "Incorrect API key"}}"#.to_owned());
    for (response, says) in [
        (refused, "401 Unauthorized: {\"error\": {\"message\": \"Incorrect API key\"}}"),
        ((StatusCode::OK, "<html>".to_owned()), "did not respond with JSON: <html>"),
        ((StatusCode::OK, "{}".to_owned()), "the response has no message"),
    ] {
        let (output, _) = agent(vec![response]).await;
        let (_, stderr) = texts(&output);
        assert!(!output.status.success() && stderr.contains(says), "{stderr}");
    }
}
