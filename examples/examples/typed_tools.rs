//! Typed tools: nested, optional and tagged arguments, and structured results.
//!
//! ```sh
//! cargo build -p papertape-examples --example typed_tools
//! papertape list target/debug/examples/typed_tools
//! papertape call target/debug/examples/typed_tools quote 'items=[{"product":"green tea","count":2}]' delivery.kind=courier delivery.city=Oslo
//! ```

use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Price an order, with its delivery.
#[derive(Deserialize, JsonSchema)]
struct Quote {
    /// What is ordered.
    #[schemars(length(min = 1))]
    items: Vec<Item>,
    /// Collected at the shop unless given.
    delivery: Option<Delivery>,
    /// A discount code.
    code: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// The product's name.
    product: String,
    #[schemars(range(min = 1, max = 100))]
    count: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Delivery {
    /// To a door.
    Courier { city: String, floor: Option<i8> },
    /// To a locker.
    Locker { number: u32 },
}

#[derive(Serialize, JsonSchema)]
struct Price {
    goods_cents: u32,
    delivery_cents: u32,
    /// Set if the code was valid.
    discount_percent: Option<u32>,
}

async fn quote(order: Quote, _: Cx) -> Result<Json<Price>, ToolError> {
    let mut goods_cents = 0;
    for item in &order.items {
        let (_, cents) = PRODUCTS
            .iter()
            .find(|(name, _)| *name == item.product)
            .ok_or_else(|| format!("{} is not sold here; `products` lists what is", item.product))?;
        goods_cents += cents * item.count;
    }
    let delivery_cents = match order.delivery {
        None => 0,
        Some(Delivery::Courier { city, floor }) => {
            let stairs = u32::from(floor.unwrap_or(0) > 3) * 200;
            if city == "Oslo" { 500 + stairs } else { 900 + stairs }
        }
        Some(Delivery::Locker { number }) if number <= 20 => 300,
        Some(Delivery::Locker { .. }) => return Err(ToolError::failed("there are 20 lockers")),
    };
    let discount_percent = order.code.filter(|code| code == "SPRING").map(|_| 10);
    Ok(Json(Price { goods_cents, delivery_cents, discount_percent }))
}

const PRODUCTS: [(&str, u32); 2] = [("green tea", 650), ("teapot", 4200)];

async fn products(_: (), _: Cx) -> Result<Json<Vec<&'static str>>, ToolError> {
    Ok(Json(PRODUCTS.map(|(name, _)| name).to_vec()))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("shop", "1.0.0")
        .tool(Tool::new("quote").read_only(), quote)
        .tool(Tool::new("products").description("List what is sold.").read_only(), products);
    stdio::serve(server).await
}
