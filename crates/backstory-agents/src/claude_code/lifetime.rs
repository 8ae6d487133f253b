//! When Claude Code deletes its logs: `cleanupPeriodDays` in its settings, else after 30 days.

use serde::Deserialize;

use super::hooks::REGISTRATION;
use crate::retention::LogLifetime;

/// When Claude Code deletes a log.
pub(crate) const LIFETIME: LogLifetime = LogLifetime::Limited {
    default_days: 30,
    settings_file: |places| REGISTRATION.file_path(places, None),
    read_days,
};

fn read_days(settings: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Settings {
        cleanup_period_days: Option<u64>,
    }
    let settings: Settings = serde_json::from_str(settings).ok()?;
    settings.cleanup_period_days
}
