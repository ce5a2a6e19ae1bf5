use serde_json::Value;

use crate::mcp_json::{folder, run, texts};

#[tokio::test]
async fn the_tools_of_all_servers_are_listed() {
    let folder = folder();
    let (stdout, stderr) = texts(&run(&folder, "several_servers", &[]).await);
    assert!(stderr.starts_with("gone: ") && stderr.contains("/no/such/server"), "{stderr}");
    let tools: Value = serde_json::from_str(&stdout).unwrap();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert_eq!(names, ["shop_quote", "shop_products", "kiosk_quote", "kiosk_products"]);
    // References are inlined.
    assert!(!stdout.contains("$ref"), "{stdout}");
    assert_eq!(tools[0]["function"]["parameters"]["properties"]["items"]["items"]["type"], "object");
}

#[tokio::test]
async fn a_call_finds_its_server() {
    let folder = folder();
    let order = r#"{"items": [{"product": "green tea", "count": 2}]}"#;
    let arguments = ["mcp.json", "kiosk_quote", order];
    let (stdout, _) = texts(&run(&folder, "several_servers", &arguments).await);
    assert!(stdout.contains("\"goods_cents\":1300"), "{stdout}");
    let failed = run(&folder, "several_servers", &["mcp.json", "gone_tool"]).await;
    assert!(!failed.status.success() && texts(&failed).1.contains("the server is not connected: \"gone\""));
}
