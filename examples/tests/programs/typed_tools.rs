use serde_json::json;

use crate::run::connect;

#[tokio::test]
async fn nested_and_optional_arguments() {
    let client = connect("typed_tools").await;
    let order = json!({"items": [{"product": "green tea", "count": 2}]});
    let result = client.call("quote", order).await.unwrap();
    let price = result.structured_content.unwrap().to_value().unwrap();
    assert_eq!(price, json!({"goods_cents": 1300, "delivery_cents": 0, "discount_percent": null}));

    let order = json!({
        "items": [{"product": "teapot", "count": 1}],
        "delivery": {"kind": "courier", "city": "Oslo", "floor": 5},
        "code": "SPRING",
    });
    let result = client.call("quote", order).await.unwrap();
    let price = result.structured_content.unwrap().to_value().unwrap();
    assert_eq!(price, json!({"goods_cents": 4200, "delivery_cents": 700, "discount_percent": 10}));
    client.close().await;
}

#[tokio::test]
async fn mistakes_are_named() {
    let client = connect("typed_tools").await;
    for (order, expected) in [
        (json!({"items": [{"product": "coffee", "count": 1}]}), "coffee is not sold here"),
        (json!({"items": [{"product": "teapot", "count": 0}]}), "items/0/count"),
        (json!({"items": []}), "items"),
        (json!({"items": [{"product": "teapot", "count": 1}], "delivery": {"kind": "drone"}}), "drone"),
    ] {
        let result = client.call("quote", order).await.unwrap();
        assert!(result.is_error && result.text().contains(expected), "{}", result.text());
    }
    client.close().await;
}
