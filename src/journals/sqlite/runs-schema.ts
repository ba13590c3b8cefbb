import type { Schema } from '../../sqlite/database.ts'
import { clockTable } from '../../sqlite/file-clock.ts'

export const runsSchema: Schema = {
  noun: 'journal',
  code: 'journal_failed',
  // The ASCII codes of "tlJ1".
  applicationId: 0x746c4a31,
  erases: true,
  isUnique: true,
  migrations: [
    // Large columns come last, so that SQLite need not read them for lists and sizes. `crc`: the checksum of the row's text.
    `CREATE TABLE runs (
       n INTEGER PRIMARY KEY AUTOINCREMENT,
       id TEXT NOT NULL UNIQUE,
       agent TEXT NOT NULL,
       status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'ended')),
       stop_reason TEXT,
       owner TEXT,
       epoch INTEGER NOT NULL,
       loop INTEGER NOT NULL,
       tries INTEGER NOT NULL DEFAULT 0,
       cancel_reason TEXT,
       problem TEXT,
       created_at INTEGER NOT NULL,
       updated_at INTEGER NOT NULL,
       session TEXT,
       model TEXT,
       metadata TEXT
     ) STRICT;
     CREATE INDEX runs_of_session ON runs (agent, session, n) WHERE session IS NOT NULL;
     CREATE INDEX runs_open ON runs (agent, status) WHERE status <> 'ended';
     CREATE INDEX runs_ended ON runs (agent, updated_at) WHERE status = 'ended';
     CREATE TABLE run_tags (tag TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (tag, run)) STRICT, WITHOUT ROWID;
     CREATE INDEX run_tags_of ON run_tags (run);
     CREATE TABLE inputs (run INTEGER PRIMARY KEY, crc INTEGER NOT NULL, value TEXT NOT NULL) STRICT;
     CREATE TABLE outputs (run INTEGER PRIMARY KEY, crc INTEGER NOT NULL, value TEXT NOT NULL) STRICT;
     CREATE TABLE steps (
       run INTEGER NOT NULL,
       key TEXT NOT NULL,
       crc INTEGER NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, key)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE call_records (
       run INTEGER NOT NULL,
       record TEXT NOT NULL,
       position INTEGER NOT NULL,
       fingerprint TEXT NOT NULL,
       crc INTEGER NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, record, position)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE kept_texts (
       run INTEGER NOT NULL,
       name TEXT NOT NULL,
       bytes INTEGER NOT NULL,
       crc INTEGER NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, name)
     ) STRICT;
     CREATE TABLE waits (
       run INTEGER NOT NULL,
       name TEXT NOT NULL,
       deadline INTEGER,
       crc INTEGER,
       value TEXT,
       decided_at INTEGER,
       decided_by TEXT,
       taken INTEGER NOT NULL DEFAULT 0,
       PRIMARY KEY (run, name)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX waits_decided ON waits (run) WHERE taken = 0 AND value IS NOT NULL;
     CREATE INDEX waits_timed ON waits (deadline, run) WHERE taken = 0 AND value IS NULL AND deadline IS NOT NULL;
     CREATE TABLE owners (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, sqlite TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE home (id TEXT PRIMARY KEY, path TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE tried_writes (n INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
     ${clockTable}
     CREATE TABLE shown_runs (
       n INTEGER PRIMARY KEY AUTOINCREMENT,
       id TEXT NOT NULL UNIQUE,
       caller TEXT NOT NULL,
       agent TEXT NOT NULL,
       kind TEXT NOT NULL,
       thread TEXT,
       request TEXT,
       status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'ended')),
       attempt TEXT NOT NULL,
       stop_reason TEXT,
       model TEXT,
       created_at INTEGER NOT NULL,
       finished_at INTEGER,
       settled_at INTEGER,
       waited INTEGER NOT NULL DEFAULT 0,
       turns INTEGER,
       calls INTEGER,
       tokens INTEGER,
       cost REAL,
       error TEXT,
       tools TEXT,
       size INTEGER NOT NULL DEFAULT 0,
       first_event INTEGER NOT NULL DEFAULT 1,
       last_event INTEGER NOT NULL DEFAULT 0,
       hides_all INTEGER NOT NULL DEFAULT 0,
       listens INTEGER NOT NULL DEFAULT 1,
       title TEXT NOT NULL,
       summary TEXT,
       head TEXT NOT NULL
     ) STRICT;
     CREATE INDEX shown_runs_of ON shown_runs (caller, n);
     CREATE INDEX shown_runs_in ON shown_runs (caller, thread, n) WHERE thread IS NOT NULL;
     CREATE INDEX shown_runs_running ON shown_runs (n) WHERE status = 'running';
     CREATE INDEX shown_runs_waiting_of ON shown_runs (caller, finished_at, size) WHERE status = 'waiting';
     CREATE INDEX shown_runs_waiting ON shown_runs (n) WHERE status = 'waiting';
     CREATE INDEX shown_runs_ended ON shown_runs (settled_at, size) WHERE status = 'ended';
     CREATE TABLE shown_words (run INTEGER PRIMARY KEY, title_words TEXT NOT NULL, words TEXT NOT NULL) STRICT;
     CREATE TABLE shown_results (run INTEGER PRIMARY KEY, value TEXT NOT NULL, state TEXT NOT NULL) STRICT;
     CREATE TABLE shown_events (
       run INTEGER NOT NULL,
       id INTEGER NOT NULL,
       type TEXT NOT NULL,
       data TEXT NOT NULL,
       PRIMARY KEY (run, id)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE shown_secrets (run INTEGER NOT NULL, hash TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, hash)) STRICT, WITHOUT ROWID;
     CREATE TABLE shown_messages (
       run INTEGER NOT NULL,
       n INTEGER NOT NULL,
       value TEXT NOT NULL,
       said_by TEXT NOT NULL,
       PRIMARY KEY (run, n)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE shown_decisions (
       run INTEGER NOT NULL,
       n INTEGER NOT NULL,
       note TEXT NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, n)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE shown_recordings (
       run INTEGER NOT NULL,
       name TEXT NOT NULL,
       size INTEGER NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, name)
     ) STRICT;
     CREATE INDEX shown_recordings_sizes ON shown_recordings (run, size);
     CREATE TABLE shown_tags (tag TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (tag, run)) STRICT, WITHOUT ROWID;
     CREATE INDEX shown_tags_of ON shown_tags (run);`,
  ],
}
