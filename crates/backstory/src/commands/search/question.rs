//! A search on its way to the worker: what was typed, as parameters.
//!
//! What depends on who asks is settled before: the worker has another folder, maybe another time zone and configuration.

use std::time::Duration;

use backstory_memory::{Query, SearchAnswer, project_filter};

use crate::cli::SearchArgs;
use crate::output::{parse_time, rfc3339};
use crate::setting::{Setting, now};
use crate::worker::{self, WorkerRequest, place_of, version};

/// A worker that has not answered after this is busy, and searching here is faster.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

/// Asks the store's worker; `None` when there is none of this version, or it has no answer in time. What is wrong with the
/// question comes out when it is answered here.
pub(super) fn ask_worker(setting: &Setting, arguments: &SearchArgs) -> Option<SearchAnswer> {
    if arguments.regex {
        return None;
    }
    let info = place_of(setting).read_info()?;
    if info.version != version() {
        return None;
    }
    let question = WorkerRequest {
        method: "GET",
        path: "/api/search",
        parameters: &parameters(setting, arguments)?,
        body: b"",
        within: ANSWER_WITHIN,
    };
    let answer = worker::ask_worker(&info, &question)?;
    if answer.status != 200 || answer.version != version() {
        return None;
    }
    serde_json::from_slice(&answer.body).ok()
}

/// What was typed, as parameters; `None` when it cannot be said so.
fn parameters(setting: &Setting, arguments: &SearchArgs) -> Option<Vec<(&'static str, String)>> {
    let folder = std::env::current_dir().ok()?;
    let filter = &arguments.filter;
    // What stands in the query is settled as well: a parameter counts more than it.
    let mut query = Query::parse(&arguments.query.join(" "));
    let mut typed = |name: &str, option: &Option<String>| query.take_filter(name, option);
    let time = |text: String| rfc3339(Some(parse_time(&text, now()).ok()?));
    let project = typed("project", &filter.project);
    let (since, until) = (typed("since", &filter.since), typed("until", &filter.until));
    let mut parameters = vec![
        ("q", arguments.query.join(" ")),
        ("limit", arguments.limit.to_string()),
        ("mode", arguments.mode.name().to_string()),
        ("people", filter.people.to_string()),
        ("all", arguments.all.to_string()),
        ("cwd", folder.to_str()?.to_string()),
        ("model", setting.config.model.clone().unwrap_or_default()),
        ("for_search", "true".to_string()),
    ];
    if let Some(project) = project {
        parameters.push(("project", project_filter(&project, Some(&folder))));
    }
    for (name, given) in [("since", since), ("until", until)] {
        if let Some(text) = given {
            parameters.push((name, time(text)?));
        }
    }
    let others = [
        ("agent", &filter.agent),
        ("branch", &filter.branch),
        ("role", &arguments.role),
        ("tool", &arguments.tool),
        ("file", &arguments.file),
        ("session", &arguments.session),
    ];
    for (name, given) in others {
        parameters.extend(given.clone().map(|value| (name, value)));
    }
    let meta = filter.meta.iter();
    parameters.extend(meta.map(|value| ("meta", value.clone())));
    Some(parameters)
}
