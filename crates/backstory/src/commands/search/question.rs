//! A search on its way to the worker.

use std::time::Duration;

use backstory_memory::search::{SearchRecord, SearchRequest};
use jiff::tz::TimeZone;

use crate::setting::{Setting, now};
use crate::worker::{self, WorkerRequest, place_of, version};

/// A worker that has not answered after this is busy, and searching here is faster.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

/// Asks the store's worker; `None` when there is none of this version, or it has no answer in time. What is wrong with the
/// request comes out when it is answered here.
pub(super) fn ask_worker(setting: &Setting, request: &SearchRequest) -> Option<SearchRecord> {
    if request.regex {
        return None;
    }
    let info = place_of(setting).read_info()?;
    if info.version != version() {
        return None;
    }
    let settled = request.settled(now(), &TimeZone::system()).ok()?;
    let question = WorkerRequest {
        method: "POST",
        path: "/api/search",
        body: &serde_json::to_vec(&settled).ok()?,
        within: ANSWER_WITHIN,
    };
    let answer = worker::ask_worker(&info, &question)?;
    if answer.status != 200 || answer.version != version() {
        return None;
    }
    serde_json::from_slice(&answer.body).ok()
}
