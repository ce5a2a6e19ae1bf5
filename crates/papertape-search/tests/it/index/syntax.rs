//! Operators in queries: filters, exclusions, phrases; and misspelt words.

use papertape_search::query::SearchResult;
use papertape_search::store::Filter;

use super::support::Fixture;

async fn garden() -> Fixture {
    let fixture = Fixture::new();
    let head = |tag: &str, date: &str| format!("---\ntags: [{tag}]\ndate: {date}\n---\n");
    for (path, tag, date, text) in [
        ("guides/bees.md", "Garden/Bees", "2024-03-01", "# Bees\n\nBees make honey in the summer.\n"),
        ("guides/trees.md", "garden", "2023-07-01", "# Trees\n\nBees visit apple trees in the spring.\n"),
        ("Notes/wasps.md", "insects", "2024-05-31", "# Wasps\n\nWasps are not bees.\n"),
    ] {
        fixture.write(path, &format!("{}{text}", head(tag, date)));
    }
    fixture.run().await;
    fixture
}

async fn search(fixture: &Fixture, query: &str) -> SearchResult {
    fixture.lexical().search(query, 9, &Filter::default()).await.unwrap()
}

fn sources(result: &SearchResult) -> Vec<&str> {
    let mut sources: Vec<&str> = result.hits.iter().map(|hit| hit.chunk.source.as_str()).collect();
    sources.sort_unstable();
    sources
}

#[tokio::test]
async fn filters_in_a_query_choose_files() {
    let fixture = garden().await;
    let (bees, trees, wasps) = ("guides/bees.md", "guides/trees.md", "Notes/wasps.md");
    for (query, found) in [
        ("bees", &[wasps, bees, trees][..]),
        ("bees path:guides/", &[bees, trees]),
        ("path:GUIDES bees -path:trees", &[bees]),
        ("bees tag:garden", &[bees, trees]),
        ("bees tag:#garden/bees", &[bees]),
        ("bees -tag:garden", &[wasps]),
        ("bees since:2024", &[wasps, bees]),
        ("bees date:2024-05", &[wasps]),
        ("bees after:2023 before:2024-05-31", &[bees]),
        ("bees title:was", &[wasps]),
        ("wasps AND bees OR apple", &[wasps, bees, trees]),
    ] {
        let result = search(&fixture, query).await;
        assert_eq!((sources(&result), &result.note), (found.to_vec(), &None), "{query}");
    }
}

#[tokio::test]
async fn filters_of_the_query_and_of_the_caller_both_hold() {
    let fixture = garden().await;
    let filter = Filter { tag: Some("garden".to_owned()), ..Filter::default() };
    let result = fixture.lexical().search("bees since:2024", 9, &filter).await.unwrap();
    assert_eq!(sources(&result), ["guides/bees.md"]);
    let nothing = fixture.lexical().search("bees tag:insects", 9, &filter).await.unwrap();
    let note = nothing.note.unwrap();
    assert!(note.contains("not in files that pass the filters") && note.contains("tag:insects"), "{note}");
}

#[tokio::test]
async fn operators_without_words_and_unreadable_dates_are_explained() {
    let fixture = garden().await;
    for query in ["tag:garden", "-bees", "-\"apple trees\" since:2024"] {
        let result = search(&fixture, query).await;
        assert!(result.hits.is_empty());
        assert!(result.note.unwrap().contains("no words to search for"), "{query}");
    }
    let result = search(&fixture, "bees since:yesterday").await;
    assert_eq!(result.hits.len(), 3);
    assert!(result.note.unwrap().contains("write a date as since:2024-05-31"));
}

#[tokio::test]
async fn a_phrase_is_required_word_for_word() {
    let fixture = garden().await;
    for (query, found) in [
        ("\"make honey\"", &["guides/bees.md"][..]),
        ("insects “MAKES, honey”", &["guides/bees.md"]),
        ("\"bees\"", &["Notes/wasps.md", "guides/bees.md", "guides/trees.md"]),
        ("\"in the\" summer -\"bees visit\"", &["guides/bees.md"]),
    ] {
        assert_eq!(sources(&search(&fixture, query).await), found, "{query}");
    }
    let result = search(&fixture, "\"honey bees\" in the summer").await;
    assert_eq!(result.hits.first().map(|hit| hit.chunk.source.as_str()), Some("guides/bees.md"));
    assert_eq!(result.note.unwrap(), "no text has exactly \"honey bees\"; these have the words");
    let result = search(&fixture, "\"make honey\" path:notes/").await;
    assert_eq!(sources(&result), [""; 0]);
    let note = result.note.unwrap();
    assert!(
        note.starts_with("no text that passes the filters has exactly \"make honey\"; there are hits"),
        "{note}"
    );
}

#[tokio::test]
async fn words_and_phrases_are_excluded() {
    let fixture = garden().await;
    for (query, found) in [
        ("bees -wasps", &["guides/bees.md", "guides/trees.md"][..]),
        ("bees NOT \"apple trees\"", &["Notes/wasps.md", "guides/bees.md"]),
        ("bees -honeys -trees", &["Notes/wasps.md"]),
    ] {
        let result = search(&fixture, query).await;
        assert_eq!(sources(&result), found, "{query}");
        assert!(result.note.unwrap().contains("are left out"), "{query}");
    }
    let note = search(&fixture, "honey -summer").await.note.unwrap();
    assert!(note.contains("something that the query excludes"), "{note}");
}

#[tokio::test]
async fn phrases_that_are_too_long_are_ignored_and_the_answer_says_so() {
    let fixture = garden().await;
    let words = |first: char, count: u8| -> String {
        ('a'..='z')
            .flat_map(|second| [format!("{first}{second}"), format!("{first}{second}{second}")])
            .take(count.into())
            .collect::<Vec<_>>()
            .join(" ")
    };
    // More words than a phrase has.
    let result = search(&fixture, &format!("bees -wasps -\"{}\"", words('x', 50))).await;
    assert_eq!(sources(&result), ["guides/bees.md", "guides/trees.md"]);
    let note = result.note.unwrap();
    assert!(note.starts_with("texts with \"wasps\" are left out; \"xa xaa"), "{note}");
    assert!(
        note.contains("is too long, so texts with it are not left out: a phrase has at most 48"),
        "{note}"
    );
    let note = search(&fixture, &format!("bees -\"{}\"", words('x', 50))).await.note.unwrap();
    assert!(!note.contains("are left out"), "{note}");
    // More than all phrases have together: exclusions come first, and what is shorter is applied.
    let query = format!("bees \"{}\" -\"{}\" -\"{}\" -wasps", words('x', 24), words('y', 40), words('z', 30));
    let result = search(&fixture, &query).await;
    assert_eq!(sources(&result), ["guides/bees.md", "guides/trees.md"]);
    let note = result.note.unwrap();
    let said = ["texts with \"ya yaa", "\"wasps\" are left out; \"za zaa", "are not left out", "\"xa xaa"];
    assert!(said.iter().all(|said| note.contains(said)), "{note}");
    assert!(
        note.contains("is too long, so its words are searched for") && !note.contains("exactly"),
        "{note}"
    );
}

#[tokio::test]
async fn a_misspelt_word_is_corrected_and_the_answer_says_so() {
    let fixture = Fixture::new();
    fixture.write("mail.md", "# Mail\n\nMessages that were received are kept for the management.\n");
    fixture.write("clusters.md", "# Clusters\n\nKubernetes runs containers on many machines.\n");
    fixture.write("relief.md", "# Relief\n\nIt relieves and relieves.\n");
    fixture.run().await;
    for (query, source, wrong, right) in [
        ("recieve", "mail.md", "recieve", "received"),
        ("the manageemnt of it", "mail.md", "manageemnt", "management"),
        ("Kuberntes", "clusters.md", "kuberntes", "kubernetes"),
        ("containres -relief", "clusters.md", "containres", "containers"),
        ("\"recieve mesages\"", "mail.md", "mesages", "messages"),
    ] {
        let result = search(&fixture, query).await;
        assert_eq!(result.hits.first().map(|hit| hit.chunk.source.as_str()), Some(source), "{query}");
        let note = result.note.unwrap();
        let right = format!("no text has \"{wrong}\": searched for \"{right}\" instead; did you mean that?");
        assert!(note.contains(&right), "{note}");
    }
    // Words that stand somewhere, numbers and short words are searched for as they are.
    for query in ["containers", "12345", "xyz", "machine2", "relief"] {
        assert!(!search(&fixture, query).await.note.unwrap_or_default().contains("did you mean"), "{query}");
    }
    // A word that was deleted is in no text, and nothing is corrected to it.
    fixture.write("clusters.md", "# Clusters\n\nNomad runs containers.\n");
    fixture.run().await;
    let result = search(&fixture, "Kuberntes").await;
    assert!(result.hits.is_empty() && !result.note.unwrap().contains("did you mean"));
}

#[tokio::test]
async fn words_of_another_language_are_not_corrected() {
    let fixture = garden().await;
    let result = search(&fixture, "wasp honig sommar treep").await;
    assert!(result.note.is_none(), "{:?}", result.note);
}
