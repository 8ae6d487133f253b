//! Opening the database: pragmas, migrations, modes.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::checksums::{Damage, drop_outdated_sums};
use crate::error::{Error, Result};
use crate::private::{self, ExpectedType};
use crate::schema;

/// Numbered from 1, append-only: never change or remove one that has shipped.
pub(crate) const MIGRATIONS: [&str; 14] = [
    include_str!("schema/0001_foundation.sql"),
    include_str!("schema/0002_search.sql"),
    include_str!("schema/0003_distilled.sql"),
    include_str!("schema/0004_code.sql"),
    include_str!("schema/0005_live.sql"),
    include_str!("schema/0006_observations.sql"),
    include_str!("schema/0007_compress.sql"),
    include_str!("schema/0008_checksums.sql"),
    include_str!("schema/0009_content.sql"),
    include_str!("schema/0010_sums.sql"),
    include_str!("schema/0011_complete_events.sql"),
    include_str!("schema/0012_snapshots.sql"),
    include_str!("schema/0013_event_log.sql"),
    include_str!("schema/0014_lag.sql"),
];

/// Older versions can corrupt a write-ahead log that several processes share.
const OLDEST_SQLITE: i32 = 3_051_003;

/// Page size of new stores. Pages of 8 KiB take 2 % more disk on real logs, and are no faster.
pub(crate) const PAGE_BYTES: i64 = 4096;

/// Length of the journal at which it is moved to the database.
const MAX_JOURNAL_BYTES: i64 = 16 << 20;

/// How long to wait for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// A journal of this size is worth moving to the database.
const LARGE_JOURNAL: u64 = 1 << 20;

/// Reading a journal of this size takes as long as a tenth of all that a hook does.
const LONG_JOURNAL: u64 = 256 << 10;

/// Folders with files that were made from the database.
const DERIVED_FOLDERS: [&str; 2] = ["index", "vectors"];

/// An open store.
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// Whether no file of the store may be touched.
    is_untouched: bool,
    /// Number of changes of this connection whose rows have checksums again.
    pub(crate) summed_changes: Cell<u64>,
    /// Damage that was met while reading, for whoever shows the answer.
    met_damage: RefCell<Vec<Damage>>,
    /// Titles and branches of forgotten sessions that readers of these files remember.
    pub(crate) unlearned: RefCell<HashMap<String, Vec<String>>>,
}

/// One view of a store, as long as it lives.
pub struct View<'a> {
    _transaction: Transaction<'a>,
}

impl Store {
    /// Opens the store in a folder, making both as needed. The folder is made private to the user.
    pub fn open(folder: &Path) -> Result<Self> {
        let store = Store::open_within(folder, BUSY_TIMEOUT)?;
        store.install_triggers()?;
        Ok(store)
    }

    /// Like [`Store::open`], for those who cannot wait longer than this for another process's transaction. They can capture hook
    /// events; whoever changes anything else calls [`Store::install_triggers`] first.
    pub fn open_within(folder: &Path, wait: Duration) -> Result<Self> {
        Store::open_for(folder, wait, true)
    }

    fn open_for(folder: &Path, wait: Duration, lasts: bool) -> Result<Self> {
        private::make_private_folder(folder, is_store_entry).map_err(prepare_error(folder))?;
        check_entries(folder)?;
        let path = folder.join("backstory.db");
        if !has_content(&path) {
            refuse_lost(folder, &path)?;
        }
        make_private_file(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let store = Store::connect(path, flags)?;
        // A page that several commits change is moved once: a first sweep changes most pages of keys in each of its commits.
        let mut journal_pages = MAX_JOURNAL_BYTES / PAGE_BYTES;
        if wait < BUSY_TIMEOUT {
            store.connection.busy_timeout(wait)?;
            // Nor to move the journal in the middle of it; see `tidy_now`.
            journal_pages = 0;
        }
        store
            .connection
            .pragma_update(None, "wal_autocheckpoint", journal_pages)?;
        if store.version()? == 0 {
            // Laying the file out takes steps that SQLite cannot queue for: one process does it, others wait.
            let lock = lock_file(&folder.join("open.lock"), || {})?;
            store.prepare(lasts)?;
            drop(lock);
        } else {
            store.prepare(lasts)?;
        }
        Ok(store)
    }

    /// Opens a store that is removed before long: nothing is made to last, rows get no checksums but those of blocks, and after a crash
    /// it may be damaged.
    pub fn open_temporary(folder: &Path) -> Result<Self> {
        Store::open_for(folder, BUSY_TIMEOUT, false)
    }

    /// Opens a store only to read it; `None` when there is none yet. One of an older schema is brought up to date first.
    pub fn open_existing(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("backstory.db");
        private::check_owner(&path).map_err(prepare_error(&path))?;
        check_entries(folder)?;
        if !has_content(&path) {
            refuse_lost(folder, &path)?;
            return Ok(None);
        }
        private::check_private_folder(folder, is_store_entry).map_err(prepare_error(folder))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match Store::connect(path, flags)?.if_laid_out() {
            Ok(Some(store)) if store.version()? < MIGRATIONS.len() as i64 => {
                drop(store);
                Store::open(folder).map(Some)
            }
            // Who laid it out was stopped in the middle of that, which only a writer can undo.
            Err(error) if error.is_read_only() => Store::open(folder).map(Some),
            store => store,
        }
    }

    /// Like [`Store::open_existing`], but writes nothing at all, not even the files that readers share, unless the schema is older.
    /// For a short look: while nobody has the store open, SQLite takes no lock then.
    pub fn open_untouched(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("backstory.db");
        for path in [folder, &path] {
            private::check_owner(path).map_err(prepare_error(path))?;
        }
        check_entries(folder)?;
        if !has_content(&path) {
            refuse_lost(folder, &path)?;
            return Ok(None);
        }
        // An empty one is as good as none, and not to open it leaves even its times alone.
        let journal = std::fs::metadata(path.with_extension("db-wal"));
        let how = if journal.is_ok_and(|journal| journal.len() > 0) {
            "readonly_shm=1"
        } else {
            "immutable=1"
        };
        // In a URI these three would mean something else.
        let escaped = path
            .to_string_lossy()
            .replace('%', "%25")
            .replace('?', "%3f")
            .replace('#', "%23");
        let uri = PathBuf::from(format!("file:{escaped}?{how}"));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        match Store::connect(uri, flags)?.if_laid_out() {
            Ok(Some(store)) if store.version()? < MIGRATIONS.len() as i64 => {
                drop(store);
                Store::open_existing(folder)
            }
            Ok(Some(mut store)) => {
                store.is_untouched = true;
                Ok(Some(store))
            }
            store => store,
        }
    }

    /// Returns the function that opens the store once more, to read it in another thread. What must not be touched is not touched.
    pub fn reader_opener(&self) -> fn(&Path) -> Result<Option<Self>> {
        match self.is_untouched {
            true => Store::open_untouched,
            false => Store::open_existing,
        }
    }

    /// Whether this was opened by [`Store::open_untouched`].
    pub fn is_untouched(&self) -> bool {
        self.is_untouched
    }

    fn if_laid_out(self) -> Result<Option<Self>> {
        match self.version()? {
            // Made by a process that was stopped before it could lay the tables: there is nothing to read.
            0 => Ok(None),
            found if found > MIGRATIONS.len() as i64 => Err(self.too_new(found)),
            _ => Ok(Some(self)),
        }
    }

    /// Takes note of damage that was met while reading; [`Store::take_damage`] gives it back.
    pub fn meet_damage(&self, damage: impl IntoIterator<Item = Damage>) {
        let mut met = self.met_damage.borrow_mut();
        for damage in damage {
            if !met.contains(&damage) {
                met.push(damage);
            }
        }
    }

    /// Damage that was met since the last call.
    pub fn take_damage(&self) -> Vec<Damage> {
        self.met_damage.take()
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One view of the store for as long as the guard lives: what others write meanwhile is not seen.
    pub fn view(&self) -> Result<View<'_>> {
        let view = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        Ok(View { _transaction: view })
    }

    /// Moves what is in the journal to the database when it has become much, so that the files on disk are as small as they
    /// can be. Does nothing while another process reads.
    pub fn tidy(&self) -> Result<()> {
        if self.journal_bytes() > LARGE_JOURNAL {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Like [`Store::tidy`], for processes that come and go: whoever opens the store while nobody else has it open reads the whole
    /// journal first, so it must stay short. Waits for nobody.
    pub fn tidy_now(&self) -> Result<()> {
        if self.journal_bytes() > LONG_JOURNAL {
            self.connection.busy_timeout(Duration::ZERO)?;
            self.checkpoint()?;
        }
        Ok(())
    }

    fn journal_bytes(&self) -> u64 {
        let journal = self.path.with_extension("db-wal");
        std::fs::metadata(journal).map_or(0, |metadata| metadata.len())
    }

    /// Moves all that is in the journal to the database, unless another process reads.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        Ok(self.connection.query_row(checkpoint, [], |_| Ok(()))?)
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(Error::Damaged(format!(
                "SQLite {} can corrupt a shared database",
                rusqlite::version()
            )));
        }
        let connection =
            Connection::open_with_flags(&path, flags).map_err(|source| Error::Open {
                path: path.clone(),
                source,
            })?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Plans do not depend on the values that are bound: else SQLite parses statements again that get other values, 4 % of a sweep.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Store {
            connection,
            path,
            is_untouched: false,
            summed_changes: Cell::default(),
            met_damage: RefCell::default(),
            unlearned: RefCell::default(),
        })
    }

    fn prepare(&self, lasts: bool) -> Result<()> {
        // Without a write-ahead log every page is written once.
        let (journal_mode, synchronous, secure_delete) = match lasts {
            true => ("WAL", "NORMAL", "FAST"),
            false => ("MEMORY", "OFF", "OFF"),
        };
        let found = self.version()?;
        if found > MIGRATIONS.len() as i64 {
            return Err(self.too_new(found));
        }
        if found == 0 {
            // Only the first opener can set these, and only before the first table is made. The file remembers them.
            self.connection
                .pragma_update(None, "page_size", PAGE_BYTES)?;
            self.connection
                .pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            if !lasts {
                // Not even the first page is waited for.
                self.connection
                    .pragma_update(None, "synchronous", synchronous)?;
            }
            self.connection
                .pragma_update(None, "journal_mode", journal_mode)?;
        }
        self.connection
            .pragma_update(None, "synchronous", synchronous)?;
        self.connection
            .pragma_update(None, "journal_size_limit", MAX_JOURNAL_BYTES)?;
        self.connection
            .pragma_update(None, "cache_size", -(24 << 10))?;
        self.connection
            .pragma_update(None, "secure_delete", secure_delete)?;
        // Moving the journal at every close costs several syncs, more than a small sweep; `tidy` does it when it is worth it.
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        if found < MIGRATIONS.len() as i64 {
            self.migrate()?;
        }
        Ok(())
    }

    fn migrate(&self) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        // Asked again inside the transaction: another process may have done it meanwhile.
        let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let before = schema::columns(&transaction)?;
        for migration in MIGRATIONS.iter().skip(found.max(0) as usize) {
            transaction.execute_batch(migration)?;
        }
        drop_outdated_sums(&transaction, &before)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
        Ok(transaction.commit()?)
    }

    fn version(&self) -> Result<i64> {
        Ok(self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    fn too_new(&self, found: i64) -> Error {
        Error::TooNew {
            path: self.path.clone(),
            found,
            known: MIGRATIONS.len() as i64,
        }
    }
}

/// Whether a database file has anything in it. Whoever makes one writes its first page before anything else.
fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// Refuses what SQLite or the index would wait for or misread, pipes, devices, sockets, folders in the place of files, and whatever belongs
/// to somebody else. Whatever mode the folder has now: others may have been able to write to it before, and who planted a journal may
/// still have it open.
fn check_entries(folder: &Path) -> Result<()> {
    const ENTRIES: [(&str, ExpectedType); 6] = [
        ("backstory.db", ExpectedType::File),
        ("backstory.db-wal", ExpectedType::File),
        ("backstory.db-shm", ExpectedType::File),
        ("backstory.db-journal", ExpectedType::File),
        ("index", ExpectedType::Folder),
        ("vectors", ExpectedType::Folder),
    ];
    for (name, expected) in ENTRIES {
        let path = folder.join(name);
        if let Some(found) = private::check_entry(&path, expected).map_err(prepare_error(&path))? {
            return Err(Error::WrongType {
                path,
                found,
                expected,
            });
        }
    }
    // A store can be used without these, so it does not matter if they are something else of ours.
    for name in ["logs", "models", "spool"] {
        let path = folder.join(name);
        private::check_owner(&path).map_err(prepare_error(&path))?;
    }
    Ok(())
}

/// Opens a lock file, which is made if there is none.
fn open_lock(path: &Path) -> Result<std::fs::File> {
    make_private_file(path)?;
    if let Some(found) = private::find_wrong_type(path, ExpectedType::File) {
        return Err(Error::WrongType {
            path: path.to_path_buf(),
            found,
            expected: ExpectedType::File,
        });
    }
    private::open_regular(path).map_err(prepare_error(path))
}

/// Refuses to take a database for a new one while there are files that were made from it: it was lost.
fn refuse_lost(folder: &Path, path: &Path) -> Result<()> {
    for name in DERIVED_FOLDERS {
        let beside = folder.join(name);
        let has_files =
            std::fs::read_dir(&beside).is_ok_and(|mut entries| entries.next().is_some());
        if has_files {
            return Err(Error::Lost {
                path: path.to_path_buf(),
                beside,
                empty: path.exists(),
            });
        }
    }
    Ok(())
}

/// Opens a file and holds its lock until it is dropped; a process that dies gives it up. Calls `waiting` if another holds it.
pub fn lock_file(path: &Path, waiting: impl FnOnce()) -> Result<std::fs::File> {
    let file = open_lock(path)?;
    if file.try_lock().is_err() {
        waiting();
        file.lock().map_err(|source| Error::Prepare {
            path: path.to_path_buf(),
            source,
        })?;
    }
    Ok(file)
}

/// Like [`lock_file`], but `None` when another holds it.
pub fn try_lock_file(path: &Path) -> Result<Option<std::fs::File>> {
    let file = open_lock(path)?;
    Ok(file.try_lock().is_ok().then_some(file))
}

pub(crate) fn make_private_folder(folder: &Path) -> Result<()> {
    private::make_private_folder(folder, |_| true).map_err(prepare_error(folder))
}

/// Whether something in a store's folder can be part of the store.
pub fn is_store_entry(name: &OsStr) -> bool {
    const FOLDERS: [&str; 8] = [
        "downloads",
        "eval",
        "index",
        "logs",
        "models",
        "sample",
        "spool",
        "vectors",
    ];
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_ours = |beginning| name.starts_with(beginning);
    FOLDERS.contains(&name)
        || is_ours("backstory.db")
        || is_ours("worker.")
        || name.ends_with(".lock")
        || name == ".DS_Store"
}

/// Tells a folder or file that is not private from one that cannot be had for another reason.
fn prepare_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    |source| match source.get_ref() {
        // Errors of the system have nothing inside.
        Some(_) => Error::NotPrivate { path, source },
        None => Error::Prepare { path, source },
    }
}

/// SQLite gives its journal files the mode of the database, so this one decides for all.
fn make_private_file(path: &Path) -> Result<()> {
    if private::check_owner(path).map_err(prepare_error(path))? {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map(drop)
        .map_err(|source| Error::Prepare {
            path: path.to_path_buf(),
            source,
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
