//! The suite's skills scenarios: a client that lists, reads when it loads, and uses nothing that differs from the list.

use std::io::{self, Write};

use papertape::Client;
use papertape::client::{ClientError, ErrorKind};
use papertape::protocol::{SkillDefinition, SkillResources};

/// Runs a scenario, if it is one of these.
pub(crate) async fn run(scenario: &str, client: &Client) -> Option<Result<(), ClientError>> {
    match scenario {
        "sep-2640-client-no-prefetch" => Some(client.skills().await.map(drop)),
        "sep-2640-client-verify-digest"
        | "sep-2640-client-verify-size"
        | "sep-2640-client-verify-frontmatter" => Some(load_all(client).await),
        _ => None,
    }
}

/// Loads every skill and reads its files. One that is not what it says is let go, which is what the suite wants to see.
async fn load_all(client: &Client) -> Result<(), ClientError> {
    for skill in client.skills().await? {
        match load(client, &skill.item).await {
            Err(error) if matches!(error.kind(), ErrorKind::Unverified(_)) => {
                drop(writeln!(io::stderr(), "not loaded: {error}"));
            }
            loaded => loaded?,
        }
    }
    Ok(())
}

async fn load(client: &Client, skill: &SkillDefinition) -> Result<(), ClientError> {
    client.read_skill(skill).await?;
    if let SkillResources::Files(files) = &skill.resources {
        for file in files.iter().filter(|file| file.uri != skill.uri) {
            client.read_skill_file(skill, &file.uri).await?;
        }
    }
    Ok(())
}
