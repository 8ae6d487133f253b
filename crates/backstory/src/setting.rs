//! Where the program runs: the user's folders, the environment and the clock. Read here and nowhere else.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_memory::capture::Spool;
use backstory_memory::{Memory, Places, Sources};
use etcetera::BaseStrategy;

use crate::cli::{Cli, Command};
use crate::config::Config;
use crate::error::{Error, ErrorKind};

/// What a command needs to know of its surroundings.
pub(crate) struct Setting {
    pub(crate) home: PathBuf,
    /// Where the user's programs keep their configuration.
    pub(crate) config_home: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) config_path: PathBuf,
    /// Whether the configuration is another than the usual one.
    config_given: bool,
    pub(crate) config: Config,
}

impl Setting {
    pub(crate) fn new(cli: &Cli) -> Result<Self, Error> {
        let setting = Setting::with(cli.config.as_deref(), Config::load)?;
        let path = &setting.config_path;
        // `config` shows which file would be used, and makes it.
        let may_be_missing = matches!(cli.command, Command::Config(_));
        if setting.config_given && !may_be_missing && !path.exists() {
            let by = match &cli.config {
                Some(_) => "--config",
                None => "BACKSTORY_CONFIG",
            };
            let shown = path.display();
            return Err(Error::usage(format!(
                "the configuration file {shown}, which {by} names, does not exist"
            ))
            .hint(format!(
                "check the path, or make the file with `backstory config set KEY VALUE --config {shown}`"
            )));
        }
        Ok(setting)
    }

    /// For hooks, which do their best with what there is; `None` when nobody can tell where anything is.
    pub(crate) fn for_hook(config: Option<&Path>) -> Option<Self> {
        Setting::with(config, |path| Ok(Config::load(path).unwrap_or_default())).ok()
    }

    fn with(
        config: Option<&Path>,
        load: impl FnOnce(&Path) -> Result<Config, Error>,
    ) -> Result<Self, Error> {
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Error::usage("cannot tell where your home folder is")
                .hint("set HOME, or BACKSTORY_HOME and BACKSTORY_CONFIG")
        })?;
        let given = config
            .map(Path::to_path_buf)
            .or_else(|| variable("BACKSTORY_CONFIG").map(PathBuf::from));
        let config_given = given.is_some();
        let config_path =
            given.unwrap_or_else(|| folders.config_dir().join("backstory").join("config.toml"));
        let config = load(&config_path)?;
        let is_configured = config_given && config.store.is_some();
        if cfg!(unix) && !is_configured && !says_where_data_is() {
            // The system's list of users would tell of a home, but whoever took HOME away does not want files there.
            return Err(
                Error::usage("HOME is not set, so the folder of the store is not known")
                    .hint("set HOME, or BACKSTORY_HOME to the folder of the store"),
            );
        }
        let store = variable("BACKSTORY_HOME")
            .map(PathBuf::from)
            .or_else(|| config.store.clone())
            .unwrap_or_else(|| folders.data_dir().join("backstory"));
        let store = std::path::absolute(&store).unwrap_or(store);
        Ok(Setting {
            home: folders.home_dir().to_path_buf(),
            config_home: folders.config_dir(),
            store,
            config_path,
            config_given,
            config,
        })
    }

    /// The same surroundings, with the configuration as it is now; the store stays where it is.
    #[cfg(unix)]
    pub(crate) fn renewed(&self) -> Result<Self, Error> {
        Ok(Setting {
            home: self.home.clone(),
            config_home: self.config_home.clone(),
            store: self.store.clone(),
            config_path: self.config_path.clone(),
            config_given: self.config_given,
            config: Config::load(&self.config_path)?,
        })
    }

    /// The agents' own folders.
    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            home: &self.home,
            variable: &variable,
        }
    }

    /// The variables that decide what a sweep reads and writes, for one that starts without them.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if variable("BACKSTORY_HOME").is_some() {
            let store = self.store.to_string_lossy().into_owned();
            variables.push(("BACKSTORY_HOME".to_string(), store));
        }
        if self.config_given {
            let path = std::path::absolute(&self.config_path);
            let path = path.unwrap_or_else(|_| self.config_path.clone());
            let path = path.to_string_lossy().into_owned();
            variables.push(("BACKSTORY_CONFIG".to_string(), path));
        }
        let asked = RefCell::new(vec![
            "XDG_CONFIG_HOME".to_string(),
            "XDG_DATA_HOME".to_string(),
        ]);
        let listen = |name: &str| {
            asked.borrow_mut().push(name.to_string());
            variable(name)
        };
        // Only the readers know which variables move their agents' folders.
        Sources::known(&Places {
            home: &self.home,
            variable: &listen,
        });
        let mut asked = asked.into_inner();
        asked.sort();
        asked.dedup();
        variables.extend(asked.into_iter().filter_map(|name| {
            let value = variable(&name)?;
            Some((name, value))
        }));
        variables
    }

    /// Whether there is a store, be it a new one that others are still making.
    pub(crate) fn has_store(&self) -> bool {
        self.store.join("backstory.db").exists()
    }

    /// Where captures wait that cannot be stored.
    pub(crate) fn spool(&self) -> Spool {
        #[cfg(unix)]
        let elsewhere = crate::worker::spool_folders(&self.store);
        #[cfg(not(unix))]
        let elsewhere = Vec::new();
        Spool::new(&self.store, elsewhere)
    }

    /// The memory, to read it; an error that helps when there is none yet.
    pub(crate) fn memory(&self) -> Result<Memory, Error> {
        self.if_any(Memory::open_existing(&self.store)?)
    }

    /// The memory, for a dry run: no file of it is touched.
    pub(crate) fn memory_untouched(&self) -> Result<Memory, Error> {
        self.if_any(Memory::open_untouched(&self.store)?)
    }

    fn if_any(&self, memory: Option<Memory>) -> Result<Memory, Error> {
        memory.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("nothing has been swept into {} yet", self.store.display()))
                .hint("`backstory sweep` takes in your agents' logs, `backstory sweep --sample` shows how it looks")
        })
    }

    /// The memory, to change what is derived from it.
    pub(crate) fn memory_to_write(&self) -> Result<Memory, Error> {
        // What waits in the spool is worth a store.
        if self.spool().is_empty() {
            drop(self.memory()?);
        }
        Ok(Memory::open(&self.store)?)
    }

    /// The folder with decisions about patterns: beside the configuration, unless that says another.
    pub(crate) fn catalogue(&self) -> PathBuf {
        let folder = self.config_path.parent().unwrap_or(Path::new(""));
        let name = self.config.catalogue.as_deref();
        folder.join(name.unwrap_or(Path::new("patterns")))
    }

    /// The key and the address of the API that may write of prompts, tool uses and sessions; `None` when there is no key. The environment's address
    /// counts only with the environment's key: one that stands in the configuration goes nowhere else.
    pub(crate) fn api(&self) -> Option<(String, String)> {
        let compress = &self.config.compress;
        let configured = compress.api_key.as_ref().map(|key| key.0.clone());
        let is_ours = configured.is_some();
        let key = configured.or_else(|| variable("ANTHROPIC_API_KEY"))?;
        let elsewhere = || variable("ANTHROPIC_BASE_URL").filter(|_| !is_ours);
        let url = compress.base_url.clone().or_else(elsewhere);
        let url = url.unwrap_or_else(|| "https://api.anthropic.com".to_string());
        (!key.trim().is_empty()).then_some((key, url))
    }
}

/// The time now.
pub(crate) fn now() -> TimeMs {
    TimeMs::new(jiff::Timestamp::now().as_millisecond())
}

/// Set for every agent that Backstory runs: its sessions are not to be remembered.
pub(crate) const OWN_SESSION: &str = "BACKSTORY_OWN_SESSION";

/// Whether this process belongs to a session that Backstory itself caused.
pub(crate) fn own_session() -> bool {
    variable(OWN_SESSION).is_some()
}

/// Folders for what lives only as long as a process: the one that the system has for it, else one beside other temporary things.
#[cfg(unix)]
pub(crate) fn runtime_homes(user: u32) -> Vec<PathBuf> {
    let given = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let given = given.filter(|folder| folder.is_absolute());
    given
        .map(|folder| folder.join("backstory"))
        .into_iter()
        .chain([std::env::temp_dir().join(format!("backstory-{user}"))])
        .collect()
}

/// The editor that the user likes.
pub(crate) fn editor() -> Option<String> {
    variable("VISUAL").or_else(|| variable("EDITOR"))
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

/// Whether the environment says where a program of the user keeps its data.
fn says_where_data_is() -> bool {
    let is_absolute = |name| variable(name).is_some_and(|path| Path::new(&path).is_absolute());
    variable("HOME").is_some()
        || variable("BACKSTORY_HOME").is_some()
        || is_absolute("XDG_DATA_HOME")
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
