use serde_json::json;

use crate::run::connect;

#[tokio::test]
async fn results_are_cached() {
    let client = connect("middleware").await;
    for (sensor, expected) in [("boiler", 1), ("boiler", 1), ("roof", 2), ("boiler", 1)] {
        let result = client.call("measure", json!({"sensor": sensor})).await.unwrap();
        assert_eq!(result.text(), format!("{sensor}: measurement {expected}"));
    }
    client.close().await;
}

#[tokio::test]
async fn calls_are_limited() {
    let client = connect("middleware").await;
    let mut calls = 0;
    loop {
        let result = client.call("measure", json!({"sensor": "boiler"})).await.unwrap();
        if result.is_error {
            assert!(result.text().contains("too many calls"), "{result:?}");
            break;
        }
        calls += 1;
    }
    // Slow machines get a few more.
    assert!(calls >= 10, "{calls}");
    client.close().await;
}
