//! Where the program runs: the user's folders, the environment and the clock. Read here and nowhere else.

use std::path::{Path, PathBuf};

use backstory_memory::{Memory, Places};
use etcetera::BaseStrategy;

use crate::cli::Cli;
use crate::config::Config;
use crate::error::{Error, ErrorKind};

/// What a command needs to know of its surroundings.
pub(crate) struct Setting {
    pub(crate) home: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) config_path: PathBuf,
    pub(crate) config: Config,
}

impl Setting {
    pub(crate) fn new(cli: &Cli) -> Result<Self, Error> {
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Error::usage("cannot tell where your home folder is")
                .hint("set HOME, or BACKSTORY_HOME and BACKSTORY_CONFIG")
        })?;
        let given = cli
            .config
            .clone()
            .or_else(|| variable("BACKSTORY_CONFIG").map(PathBuf::from));
        let config_path =
            given.unwrap_or_else(|| folders.config_dir().join("backstory").join("config.toml"));
        let config = Config::load(&config_path)?;
        let store = variable("BACKSTORY_HOME")
            .map(PathBuf::from)
            .or_else(|| config.store.clone())
            .unwrap_or_else(|| folders.data_dir().join("backstory"));
        let store = std::path::absolute(&store).unwrap_or(store);
        Ok(Setting {
            home: folders.home_dir().to_path_buf(),
            store,
            config_path,
            config,
        })
    }

    /// The agents' own folders.
    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            home: &self.home,
            variable: &variable,
        }
    }

    /// The memory, to read it; an error that helps when there is none yet.
    pub(crate) fn memory(&self) -> Result<Memory, Error> {
        Memory::open_existing(&self.store)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("nothing has been swept into {} yet", self.store.display()))
                .hint("`backstory sweep` takes in your agents' logs, `backstory sweep --sample` shows how it looks")
        })
    }

    /// The memory, to change what is derived from it.
    pub(crate) fn memory_to_write(&self) -> Result<Memory, Error> {
        drop(self.memory()?);
        Ok(Memory::open(&self.store)?)
    }

    /// Claude Code's settings, which say when it deletes logs.
    pub(crate) fn claude_settings(&self) -> Option<String> {
        let folder =
            variable("CLAUDE_CONFIG_DIR").map_or_else(|| self.home.join(".claude"), PathBuf::from);
        std::fs::read_to_string(folder.join("settings.json")).ok()
    }
}

/// Now, in unix milliseconds.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// How the program was called, for commands that people can copy.
pub(crate) fn program() -> String {
    let called = std::env::args()
        .next()
        .unwrap_or_else(|| "backstory".to_string());
    let name = Path::new(&called).file_name().map_or_else(
        || called.clone(),
        |name| name.to_string_lossy().into_owned(),
    );
    let on_path = variable("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(&name) == Path::new(&called))
    });
    if on_path { name } else { called }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
