//! Options of the library, made of the configuration, the environment and the clock.

use std::path::PathBuf;
use std::time::Duration;

use backstory_memory::context::{ContextOptions, Occasion, Surroundings};
use backstory_memory::summarize::{Endpoint, Retry, SummarizeOptions, SummarizeScope};
use backstory_memory::{ImportOptions, LogAgent, RetainOptions, Sources, random_key};
use backstory_redact::Redactor;

use crate::config::{Redact, limits_of};
use crate::error::Error;
use crate::setting::{Setting, now};

impl Setting {
    /// Returns the options of an import of the given paths, or of all configured sources.
    pub(crate) fn import_options(&self, paths: &[PathBuf], agent: Option<&str>) -> ImportOptions {
        let mut sources = if paths.is_empty() {
            Sources::known(&self.places())
        } else {
            // The store and `doctor` name them whichever folder one is in.
            let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Sources::paths(paths.iter().map(whole))
        };
        if paths.is_empty() {
            sources
                .roots
                .retain(|(agent, _)| self.config.is_enabled(agent));
            for known in LogAgent::all() {
                let name = known.agent.name;
                let extra = self.config.sources.get(name);
                let extra = extra.filter(|source| source.enabled);
                let extra = extra.iter().flat_map(|source| source.roots.iter());
                let extra = extra.map(|root| (name, root.clone()));
                sources.roots.extend(extra);
            }
        }
        sources.agent = agent.map(str::to_string);
        ImportOptions {
            redact: self.config.redact == Redact::On,
            retain: self.retain_options(),
            ..ImportOptions::new(sources)
        }
    }

    /// Returns the options of retention as of now.
    pub(crate) fn retain_options(&self) -> RetainOptions {
        RetainOptions {
            caps: self.config.retention.caps(),
            now: now(),
        }
    }

    /// Returns the options of context for an agent in some surroundings; by the configuration, unless a budget is given.
    pub(crate) fn context_options<'a>(
        &self,
        agent: Option<&str>,
        budget: Option<usize>,
        here: Surroundings,
        redactor: Option<&'a Redactor>,
    ) -> ContextOptions<'a> {
        let context = &self.config.context;
        let limits = limits_of(agent);
        let now = now();
        ContextOptions {
            here,
            session: None,
            occasion: Occasion::Start,
            prompt: None,
            calls: false,
            redactor,
            tokens: budget.unwrap_or(context.tokens).min(limits.tokens),
            characters: limits.characters,
            shares: context.shares,
            before: now,
            now,
            nonce: random_key(),
        }
    }

    /// Returns a redactor, unless secrets are to be kept.
    pub(crate) fn redactor(&self) -> Option<Redactor> {
        (self.config.redact == Redact::On).then(|| Redactor::new(random_key()))
    }

    /// Returns the endpoint of the language model, if there is a key.
    pub(crate) fn endpoint(&self) -> Result<Option<Endpoint>, Error> {
        let Some((key, url)) = self.api() else {
            return Ok(None);
        };
        let timeout = Duration::from_secs(self.config.compress.timeout_seconds.clamp(1, 600));
        Ok(Some(Endpoint::new(&url, &key, timeout)?))
    }

    /// Returns the options of summaries by language models.
    pub(crate) fn compress_options(&self) -> SummarizeOptions<'static> {
        let compress = &self.config.compress;
        SummarizeOptions {
            observations: compress.observations.0.clone(),
            summaries: compress.summaries.0.clone(),
            caps: compress.caps(),
            prices: compress.prices(),
            scope: SummarizeScope::default(),
            limit: 0,
            within: None,
            waits: true,
            retry: Retry::default(),
            now: &now,
            sleep: &std::thread::sleep,
        }
    }
}
