-- What Backstory did, one row an event, for thirty days. Rows of before lack the new columns: nothing is rewritten, so that opening a
-- store takes no time.
ALTER TABLE event_log RENAME TO logged_events;
ALTER TABLE logged_events RENAME COLUMN name TO event_type;
ALTER TABLE logged_events RENAME COLUMN tokens TO tokens_out;
ALTER TABLE logged_events RENAME COLUMN detail TO data;
-- The agent's own id of the session.
ALTER TABLE logged_events ADD COLUMN session_id TEXT;
ALTER TABLE logged_events ADD COLUMN tokens_in INTEGER;

-- The documented columns. Rows of before have agent and error elsewhere, and no status.
CREATE VIEW event_log (timestamp, session_id, event_type, data, duration_ms, tokens_in, tokens_out) AS
SELECT
  strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch'),
  session_id,
  event_type,
  CASE
    WHEN NOT json_valid(COALESCE(data, '{}')) OR data ->> '$.status' IS NOT NULL THEN data
    ELSE json_set(
      COALESCE(data, '{}'),
      '$.agent', agent,
      '$.status', IIF(data ->> '$.error' IS NULL, 'success', 'error'),
      '$.error', data ->> '$.error'
    )
  END,
  duration_us / 1000.0,
  tokens_in,
  tokens_out
FROM logged_events;
