//! Queries with stop words, and with terms that do not occur.

use serde_json::json;

use super::{modern, query, search, sources, three_languages, write};
use crate::scratch;

#[tokio::test]
async fn stop_words_do_not_decide() {
    let folder = scratch("blog_question_words");
    write(&folder, "pods.md", "# Pods\n\nA pod is the smallest thing that is run.\n");
    write(
        &folder,
        "restart.md",
        "# What happens after a restart\n\nIt is started again, and so is every pod.\n",
    );
    write(&folder, "async.md", "# 异步代码\n\n程序不必等待。\n");
    write(&folder, "container.md", "# 什么是容器\n\n容器是轻量的。\n");
    let client = modern(&folder).await;
    for (text, source) in [("what is a pod", "pods.md"), ("什么是异步", "async.md")] {
        let found = sources(&client, query(text)).await;
        assert_eq!(found.first().map(String::as_str), Some(source), "{text}: {found:?}");
    }
    // They are terms all the same.
    assert_eq!(sources(&client, query("what happens after")).await.first().unwrap(), "restart.md");
    assert_eq!(sources(&client, query("什么是")).await.first().unwrap(), "container.md");
}

#[tokio::test]
async fn a_chunk_with_a_stop_word_only_is_not_a_hit() {
    let folder = scratch("blog_noise");
    write(&folder, "cabeceras.md", "# Cabeceras de respuesta\n\nLas cabeceras se envían con la respuesta.\n");
    for number in 0..9 {
        write(&folder, &format!("{number}.md"), "# Pan\n\nLa harina de trigo y el agua de la fuente.\n");
    }
    let client = modern(&folder).await;
    assert_eq!(sources(&client, query("cabeceras de respuesta")).await, ["cabeceras.md"]);
}

#[tokio::test]
async fn an_empty_result_says_why() {
    let client = modern(&three_languages("blog_nothing")).await;
    for (arguments, why) in [
        (query("zzzqqq"), "no text has any of these words"),
        (json!({ "query": "zzzqqq", "tag": "garden" }), "whatever the filters"),
        (json!({ "query": "honey", "tag": "nosuch" }), "pass the filters"),
    ] {
        let found = search(&client, arguments).await;
        assert_eq!(found["hits"], json!([]));
        assert!(found["note"].as_str().is_some_and(|note| note.contains(why)), "{found}");
    }
    let client = modern(&scratch("blog_empty")).await;
    let found = search(&client, query("honey")).await;
    assert!(found["note"].as_str().unwrap().contains("nothing to search"), "{found}");
}
