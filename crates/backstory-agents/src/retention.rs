//! How long agents keep their own logs.

use std::path::PathBuf;

use crate::reader::Places;

/// When an agent deletes its logs.
#[derive(Debug, Clone, Copy)]
pub enum LogLifetime {
    /// It never does.
    Unlimited,
    /// Some days after a log was last written.
    Limited {
        /// Number of days unless the settings say another.
        default_days: u64,
        /// Settings file that may say another number.
        settings_file: fn(&Places<'_>) -> PathBuf,
        /// Reads the number of days from the text of that file.
        read_days: fn(&str) -> Option<u64>,
    },
}
