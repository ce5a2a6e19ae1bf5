//! Elicitation, progress and cancellation: a tool that requests a form from its user, then works for a while.
//!
//! ```sh
//! cargo build -p papertape-examples --example elicitation
//! papertape call target/debug/examples/elicitation book_seats count=3       # asks on the terminal; Ctrl-C cancels
//! ```

use std::time::Duration;

use papertape::server::{Elicited, Form, Tool};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Book seats in the theatre.
#[derive(Deserialize, JsonSchema)]
struct BookSeats {
    /// How many.
    #[schemars(range(min = 1, max = 100))]
    count: u32,
}

/// What the user is asked.
#[derive(Deserialize, JsonSchema)]
struct Wishes {
    /// Where do you want to sit?
    place: Place,
    /// The name on the tickets.
    #[schemars(length(min = 1))]
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    Stalls,
    Balcony,
}

/// The seats that are free.
type Theatre = Semaphore;

async fn book_seats(args: BookSeats, cx: Cx<Theatre>) -> Result<String, ToolError> {
    if !cx.can_ask() {
        return Err(ToolError::failed(
            "your client cannot ask you where you want to sit, so nothing was booked",
        ));
    }
    // Here the handler ends until the user has answered; then it runs again from its start.
    let question = format!("{} seats, {} are free.", args.count, cx.state().available_permits());
    let wishes = match cx.ask("wishes", Form::<Wishes>::new(question))? {
        Elicited::Accepted(wishes) => wishes,
        Elicited::Declined | Elicited::Cancelled => return Ok("Nothing was booked.".to_owned()),
    };

    // If the client cancels the call, the future is dropped at an `await`, and these seats are free again.
    let seats = cx.state().try_acquire_many(args.count).map_err(|_| "there are not enough free seats")?;
    for printed in 1..=args.count {
        sleep(Duration::from_millis(100)).await;
        cx.progress(printed, args.count, "printing tickets");
    }
    seats.forget();
    Ok(format!("{} seats for {}: {:?}.", args.count, wishes.name, wishes.place))
}

async fn free_seats(_: (), cx: Cx<Theatre>) -> Result<String, ToolError> {
    Ok(cx.state().available_permits().to_string())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("theatre", "1.0.0")
        .with_state(Theatre::new(200))
        .tool("book_seats", book_seats)
        .tool(Tool::new("free_seats").description("How many seats are free.").read_only(), free_seats);
    stdio::serve(server).await
}
