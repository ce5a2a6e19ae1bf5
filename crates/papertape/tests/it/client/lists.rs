//! Lists that are long, endless or invalid.

use papertape::client::{ErrorKind, ListEntry};
use papertape::protocol::ToolDefinition;

use super::{
    SHORT, broken, code, end, heard, legacy, lives_and_ends, open, open_with, patient, run, says, timed_out,
};

fn names(tools: &[ListEntry<ToolDefinition>]) -> Vec<&str> {
    tools.iter().map(|tool| &*tool.item.name).collect()
}

/// Nothing is wrong but with the last one.
#[track_caller]
fn only_the_last_is_wrong<'a>(tools: &'a [ListEntry<ToolDefinition>], words: &str) -> &'a str {
    let (last, others) = tools.split_last().unwrap();
    for other in others {
        assert_eq!(other.problems, [""; 0]);
    }
    let [problem] = &last.problems[..] else { panic!("{:?}", last.problems) };
    assert!(problem.contains(words), "{problem}");
    problem
}

// C-27
#[test]
fn ten_thousand_tools_on_a_hundred_pages_are_all_listed() {
    run(async {
        let client = open(&["many-tools", "10000", "100"]).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.len(), 10_000);
        for (number, tool) in tools.iter().enumerate() {
            assert_eq!(tool.item.name, format!("tool_{number:05}"));
            assert_eq!(tool.problems, [""; 0]);
            assert_eq!(tool.raw.to_value().unwrap()["inputSchema"], tool.item.input_schema);
        }
        assert_eq!(heard(&client).await.iter().filter(|method| *method == "tools/list").count(), 100);
        lives_and_ends(client).await;
    });
}

// C-27
#[test]
fn tools_of_the_same_name_are_all_there_and_marked() {
    run(async {
        let client = open(&["duplicate-names"]).await;
        let tools = client.tools().await.unwrap();
        let same: Vec<_> = tools.iter().filter(|tool| tool.item.name == "same").collect();
        let descriptions: Vec<_> =
            same.iter().map(|tool| tool.item.description.as_deref().unwrap()).collect();
        assert_eq!(descriptions, ["first", "second", "third"]);
        assert_eq!(same[0].problems, [""; 0]);
        for again in &same[1..] {
            assert_eq!(again.problems, ["the name \"same\" occurs more than once"]);
        }
        lives_and_ends(client).await;
    });
}

// C-27, M-18
#[test]
fn an_endless_list_ends_after_a_thousand_pages() {
    run(async {
        for (kind, options) in [("fresh", patient()), ("loop", patient()), ("loop", legacy())] {
            let client = open_with(&["cursor", kind], options).await;
            let tools = client.tools().await.unwrap();
            assert_eq!(tools.len(), 1000);
            assert_eq!(tools[999].item.name, "page_1000");
            only_the_last_is_wrong(&tools, "the list is too long");
            lives_and_ends(client).await;
        }
    });
}

// M-18
#[test]
fn a_cursor_may_come_again() {
    run(async {
        let client = open(&["cursor", "same"]).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(names(&tools), ["page_1", "page_2", "page_3"]);
        assert!(tools.iter().all(|tool| tool.problems.is_empty()), "{tools:?}");
        lives_and_ends(client).await;
    });
}

// M-18
#[test]
fn a_list_whose_cursor_went_stale_is_read_again() {
    run(async {
        for (stale, options) in [("1", patient()), ("2", patient()), ("2", legacy())] {
            let client = open_with(&["cursor", "stale", stale], options).await;
            let tools = client.tools().await.unwrap();
            assert_eq!(names(&tools), ["page_1", "page_2"]);
            assert!(tools.iter().all(|tool| tool.problems.is_empty()), "{tools:?}");
            lives_and_ends(client).await;
        }
    });
}

// M-18
#[test]
fn cursors_are_given_back_as_they_came() {
    run(async {
        // One of a megabyte, and the empty one, which is a cursor like any other.
        for (kind, pages) in [("huge", 2), ("empty", 2), ("null", 1)] {
            let client = open(&["cursor", kind]).await;
            let tools = client.tools().await.unwrap();
            assert_eq!(names(&tools), ["page_1", "page_2"][..pages], "{kind}");
            assert!(tools.iter().all(|tool| tool.problems.is_empty()), "{kind}: {tools:?}");
            lives_and_ends(client).await;
        }
    });
}

// M-18
#[test]
fn a_cursor_that_is_not_a_string_is_an_error() {
    run(async {
        let client = open(&["cursor", "number"]).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(names(&tools), ["page_1"]);
        only_the_last_is_wrong(&tools, "`nextCursor` is 2, not a string");
        lives_and_ends(client).await;
    });
}

// M-18
#[test]
fn a_rejected_cursor_is_reported_with_its_page() {
    run(async {
        let client = open(&["cursor", "refused"]).await;
        let error = client.tools().await.unwrap_err();
        assert_eq!(code(&error), -32602);
        assert_eq!(error.operation(), "listing tools (page 2)");
        says(&error, &["the cursor has expired"]);
        // Three times from the beginning, and no more often.
        assert_eq!(heard(&client).await.iter().filter(|method| *method == "tools/list").count(), 6);
        lives_and_ends(client).await;
    });
}

// C-27
#[test]
fn an_invalid_list_result_is_reported_with_its_value() {
    run(async {
        for kind in ["missing", "null", "object"] {
            for options in [patient(), legacy()] {
                let client = open_with(&["odd-list", kind], options).await;
                let error = client.tools().await.unwrap_err();
                assert!(broken(&error).contains("no array `tools`"), "{error}");
                assert_eq!(error.operation(), "listing tools");
                assert!(error.bytes().unwrap().starts_with(b"{"), "{error:?}");
                lives_and_ends(client).await;
            }
        }
    });
}

#[test]
fn a_list_request_cannot_require_input() {
    run(async {
        let client = open(&["list-asks"]).await;
        let error = client.tools().await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::ResultType(kind) if kind == "\"input_required\""),
            "{error:?}"
        );
        assert!(error.bytes().unwrap().escape_ascii().to_string().contains("input_required"), "{error:?}");
        assert_eq!(heard(&client).await, ["server/discover", "tools/list"]);
        lives_and_ends(client).await;
    });
}

// C-15
#[test]
fn a_list_has_the_timeout_of_a_call() {
    run(async {
        let client = open_with(&["list-silent"], patient().timeout(SHORT).total_timeout(SHORT)).await;
        let error = client.tools().await.unwrap_err();
        assert_eq!(timed_out(&error), SHORT);
        assert_eq!(error.operation(), "listing tools");
        end(client).await;
    });
}

#[test]
fn lists_that_the_server_does_not_have_are_its_own_error() {
    run(async {
        let client = open(&["well-behaved"]).await;
        assert_eq!(code(&client.resources().await.unwrap_err()), -32601);
        assert_eq!(code(&client.resource_templates().await.unwrap_err()), -32601);
        let error = client.prompts().await.unwrap_err();
        assert_eq!(code(&error), -32601);
        says(&error, &["listing prompts", "prompts/list"]);
        lives_and_ends(client).await;
    });
}
