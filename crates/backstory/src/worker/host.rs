//! This program as the server sees it: its configuration, its clock and its processes.

use std::path::Path;

use backstory_memory::context::{Context, Surroundings};
use backstory_memory::{Memory, TimeMs};
use backstory_server::{ContextRequest, Host, Presence, Refusal};
use jiff::tz::TimeZone;

use super::round::{self, Round, Scope};
use crate::error::{Error, ErrorKind};
use crate::setting::{Setting, now};

/// This program with the surroundings that the worker was started in.
pub(super) struct ProgramHost {
    setting: Setting,
}

impl ProgramHost {
    pub(super) fn new(setting: Setting) -> Self {
        ProgramHost { setting }
    }
}

impl Host for ProgramHost {
    fn store(&self) -> &Path {
        &self.setting.store
    }

    fn now(&self) -> TimeMs {
        now()
    }

    fn zone(&self) -> TimeZone {
        TimeZone::system()
    }

    fn open_memory(&self) -> Result<Memory, Refusal> {
        self.setting.memory().map_err(refusal)
    }

    fn configured_model(&self) -> Option<String> {
        self.setting.renewed().ok()?.config.model
    }

    fn build_context(&self, memory: &Memory, request: &ContextRequest) -> Result<Context, Refusal> {
        // As it is configured now: the worker lives longer than a configuration.
        let setting = self.setting.renewed().map_err(refusal)?;
        let redactor = setting.redactor();
        let here = Surroundings::of(&request.cwd);
        let agent = request.agent.as_deref();
        let mut options = setting.context_options(agent, request.budget, here, redactor.as_ref());
        options.prompt = request.prompt.as_deref();
        let context = memory.context().build(&options);
        context.map_err(|error| self.refuse(error))
    }

    fn import_everything(&self) -> Result<(), Refusal> {
        let started = Round::start(&self.setting, Scope::Everything);
        started.map_err(|error| refusal(error.into()))?.finish();
        Ok(())
    }

    fn run_rounds(&self, presence: &Presence) {
        round::run_rounds(self, &self.setting, presence);
    }

    fn refuse(&self, error: backstory_memory::Error) -> Refusal {
        refusal(error.into())
    }
}

/// Returns the status and the words of an error.
#[allow(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn refusal(error: Error) -> Refusal {
    let status = match error.kind() {
        ErrorKind::NotFound | ErrorKind::Silent => 404,
        ErrorKind::Usage => 400,
        ErrorKind::Internal | ErrorKind::Environment | ErrorKind::BrokenPipe => 500,
    };
    Refusal::new(status, error.message())
}
