//! Parameters of searches that clients send.

use std::path::PathBuf;
use std::time::Instant;

use backstory_memory::{Memory, Mode, SearchAnswer, SearchRequest, log_event};

use crate::host::{Host, Refusal};

/// Search that a client of the worker asks for.
#[derive(Default)]
pub(super) struct SearchQuestion {
    request: SearchRequest,
    /// The model to compare with: that of the worker's configuration, none, or one by its name.
    model: Option<Option<String>>,
    /// True if the command `search` asks: it needs the parts for the terminal, and rebuilds a lost index itself.
    for_search: bool,
}

impl SearchQuestion {
    /// Reads parameters, which are named like the options.
    pub(super) fn parse(parameters: &[(String, String)]) -> Result<Self, Refusal> {
        let mut question = SearchQuestion::default();
        for (name, value) in parameters {
            let set = question.set(name, value);
            set.map_err(|wrong| Refusal::new(400, &wrong))?;
        }
        Ok(question)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("{value:?} is no value of {name}");
        let request = &mut self.request;
        let text = || Some(value.to_string());
        let is_on = || value.parse::<bool>().map_err(|_| wrong());
        match name {
            "q" | "query" => request.query = value.to_string(),
            "limit" => request.limit = value.parse().map_err(|_| wrong())?,
            "mode" => request.mode = mode_named(value).ok_or_else(wrong)?,
            "agent" => request.agent = text(),
            "project" => request.project = text(),
            "branch" => request.branch = text(),
            "since" => request.since = text(),
            "until" => request.until = text(),
            "people" => request.people = is_on()?,
            "meta" => request.meta.push(value.to_string()),
            "role" => request.role = text(),
            "tool" => request.tool = text(),
            "file" => request.file = text(),
            "session" => request.session = text(),
            "all" => request.all = is_on()?,
            "cwd" => {
                request.folder = Some(PathBuf::from(value)).filter(|folder| folder.is_absolute());
            }
            "model" => self.model = Some(text().filter(|name| !name.is_empty())),
            "for_search" => self.for_search = is_on()?,
            _ => return Err(format!("there is no parameter {name:?}")),
        }
        Ok(())
    }

    /// Runs the search; `None` when the index or vectors are lost and `search` should search and rebuild them itself.
    pub(super) fn answer(
        mut self,
        memory: &Memory,
        host: &dyn Host,
    ) -> Result<Option<SearchAnswer>, Refusal> {
        let started = Instant::now();
        // As it is configured now: the worker lives longer than a configuration.
        let model = self.model.take();
        self.request.model = model.unwrap_or_else(|| host.configured_model());
        let resolved = self.request.resolve(memory, host.now(), &host.zone());
        let found = resolved.and_then(|(query, options)| memory.search().run(&query, &options));
        let found = found.map_err(|error| host.refuse(error))?;
        let mut answer = SearchAnswer::new(memory, &found);
        if !self.for_search {
            let event = answer.query_event(false, host.now()).with("by", "worker");
            log_event(host.store(), &event.taking(started.elapsed()));
            let answer = answer.without_terminal_parts();
            return Ok(Some(answer.taking(started.elapsed())));
        }
        if found.index_is_lost || found.vectors_are_lost {
            return Ok(None);
        }
        answer.told_of_models = memory.upkeep().was_told("models").ok();
        Ok(Some(answer.taking(started.elapsed())))
    }
}

fn mode_named(name: &str) -> Option<Mode> {
    [Mode::Hybrid, Mode::Keyword, Mode::Semantic]
        .into_iter()
        .find(|mode| mode.name() == name)
}
