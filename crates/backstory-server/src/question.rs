//! Searches that clients ask for.

use backstory_memory::search::SearchRequest;
use serde_json::{Map, Value, json};

use crate::host::{Host, Refusal};
use crate::http::Request;

/// Reads a search: the body of a POST, or else parameters, which are named like the options.
pub(super) fn read_search(request: &Request, host: &dyn Host) -> Result<SearchRequest, Refusal> {
    let fields = match request.method.as_str() {
        "POST" => serde_json::from_slice(&request.body).map_err(|error| bad(&error.to_string()))?,
        _ => fields_of(&request.parameters)?,
    };
    let names_model = fields.contains_key("model");
    let search = serde_json::from_value(Value::Object(fields));
    let mut search: SearchRequest = search.map_err(|error| bad(&error.to_string()))?;
    search.model = match names_model {
        true => search.model.filter(|name| !name.is_empty()),
        // As it is configured now: the worker lives longer than a configuration.
        false => host.configured_model(),
    };
    search.folder = search.folder.filter(|folder| folder.is_absolute());
    Ok(search)
}

/// Returns parameters as fields of a request, of the types that it has there.
fn fields_of(parameters: &[(String, String)]) -> Result<Map<String, Value>, Refusal> {
    let known = json!(SearchRequest::default());
    let mut fields = Map::new();
    for (given, value) in parameters {
        let name = if given == "q" { "query" } else { given };
        let Some(default) = known.get(name) else {
            return Err(bad(&format!("there is no parameter {given:?}")));
        };
        let field = match (default, fields.remove(name)) {
            (Value::Array(_), Some(Value::Array(mut values))) => {
                values.push(json!(value));
                Value::Array(values)
            }
            (Value::Array(_), _) => json!([value]),
            (Value::Bool(_) | Value::Number(_), _) => {
                serde_json::from_str(value).unwrap_or_default()
            }
            _ => json!(value),
        };
        if serde_json::from_value::<SearchRequest>(json!({ name: field })).is_err() {
            return Err(bad(&format!("{value:?} is no value of {given}")));
        }
        fields.insert(name.to_string(), field);
    }
    Ok(fields)
}

fn bad(reason: &str) -> Refusal {
    Refusal::new(400, reason)
}
