import type { Schema } from '../../sqlite/database.ts'

/** The tables of a journal. */
export const runsSchema: Schema = {
  noun: 'journal',
  code: 'journal_failed',
  // "tlJ1"
  applicationId: 0x746c4a31,
  migrations: [
    `CREATE TABLE runs (
       n INTEGER PRIMARY KEY AUTOINCREMENT,
       id TEXT NOT NULL UNIQUE,
       agent TEXT NOT NULL,
       status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'ended')),
       stop_reason TEXT,
       owner TEXT,
       epoch INTEGER NOT NULL,
       loop INTEGER NOT NULL,
       cancel_reason TEXT,
       problem TEXT,
       created_at INTEGER NOT NULL,
       updated_at INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX runs_open ON runs (agent, status) WHERE status <> 'ended';
     CREATE INDEX runs_ended ON runs (agent, updated_at) WHERE status = 'ended';
     CREATE TABLE inputs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
     CREATE TABLE outputs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
     CREATE TABLE steps (run INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, key)) STRICT, WITHOUT ROWID;
     CREATE TABLE waits (
       run INTEGER NOT NULL,
       name TEXT NOT NULL,
       deadline INTEGER,
       value TEXT,
       decided_at INTEGER,
       taken INTEGER NOT NULL DEFAULT 0,
       PRIMARY KEY (run, name)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX waits_decided ON waits (run) WHERE taken = 0 AND value IS NOT NULL;
     CREATE INDEX waits_timed ON waits (deadline, run) WHERE taken = 0 AND value IS NULL AND deadline IS NOT NULL;
     CREATE TABLE owners (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, sqlite TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
    // The value comes last, so that sizes are added up without reading it.
    `CREATE TABLE kept_texts (
       run INTEGER NOT NULL,
       name TEXT NOT NULL,
       bytes INTEGER NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, name)
     ) STRICT;
     ALTER TABLE runs ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;`,
  ],
}
