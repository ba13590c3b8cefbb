import type { Schema } from '../../sqlite/database.ts'
import { clockTable } from '../../sqlite/file-clock.ts'

export const sessionsSchema: Schema = {
  noun: 'session file',
  code: 'session_failed',
  // The ASCII codes of "tlS1".
  applicationId: 0x746c5331,
  migrations: [
    `CREATE TABLE sessions (
       n INTEGER PRIMARY KEY AUTOINCREMENT,
       id TEXT NOT NULL UNIQUE,
       length INTEGER NOT NULL,
       compaction TEXT,
       run TEXT,
       durable INTEGER NOT NULL DEFAULT 0,
       token TEXT,
       owner TEXT,
       epoch INTEGER,
       resumed_at INTEGER,
       waits_for TEXT,
       draft TEXT,
       created_at INTEGER NOT NULL,
       updated_at INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX sessions_changed ON sessions (updated_at, n);
     CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL;
     CREATE TABLE session_messages (
       session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
       at INTEGER NOT NULL,
       value TEXT NOT NULL,
       UNIQUE (session, at)
     ) STRICT;
     CREATE TABLE session_runs (
       session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
       run TEXT NOT NULL,
       outcome TEXT NOT NULL CHECK (outcome IN ('stored', 'released')),
       first INTEGER NOT NULL,
       PRIMARY KEY (session, run)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE owners (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, sqlite TEXT NOT NULL) STRICT, WITHOUT ROWID;
     ${clockTable}`,
  ],
}
