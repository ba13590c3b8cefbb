import { ToolloopError } from '../../core/errors.ts'
import type { Database, Query } from './database.ts'

/**
 * Each migration upgrades the tables to the next version; the first migration creates them. A migration never changes once it is released.
 */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE SEQUENCE ${schema}.owners AS integer;
    CREATE TABLE ${schema}.runs (
      n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      agent text NOT NULL,
      id text NOT NULL,
      status text NOT NULL,
      owner integer,
      epoch integer NOT NULL,
      loop integer NOT NULL,
      tries integer NOT NULL DEFAULT 0,
      stop_reason text,
      cancel_reason text,
      problem text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      session text,
      model text,
      metadata text,
      input text NOT NULL,
      output text,
      UNIQUE (agent, id)
    );
    CREATE INDEX runs_by_status ON ${schema}.runs (agent, status, n);
    CREATE INDEX runs_by_end ON ${schema}.runs (agent, updated_at, n) WHERE status = 'ended';
    CREATE INDEX runs_of_session ON ${schema}.runs (agent, session, n) WHERE session IS NOT NULL;
    CREATE INDEX runs_by_owner ON ${schema}.runs (owner) WHERE owner IS NOT NULL;
    CREATE TABLE ${schema}.run_tags (
      tag text NOT NULL,
      run bigint NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
      PRIMARY KEY (tag, run)
    );
    CREATE INDEX run_tags_of ON ${schema}.run_tags (run);
    CREATE TABLE ${schema}.waits (
      run bigint NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
      name text NOT NULL,
      deadline bigint,
      value text,
      crc bigint,
      decided_at bigint,
      decided_by uuid,
      taken integer NOT NULL DEFAULT 0,
      PRIMARY KEY (run, name)
    );
    CREATE INDEX waits_decided ON ${schema}.waits (run) WHERE taken = 0 AND value IS NOT NULL;
    CREATE INDEX waits_due ON ${schema}.waits (deadline) WHERE taken = 0 AND value IS NULL;
    CREATE TABLE ${schema}.executions (
      run bigint NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
      epoch integer NOT NULL,
      steps integer NOT NULL,
      characters bigint NOT NULL DEFAULT 0,
      forgotten text[] NOT NULL,
      PRIMARY KEY (run, epoch)
    );
    CREATE TABLE ${schema}.call_records (
      run bigint NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
      record text NOT NULL,
      position integer NOT NULL,
      fingerprint text NOT NULL,
      value text NOT NULL,
      crc bigint NOT NULL,
      PRIMARY KEY (run, record, position)
    );
    CREATE TABLE ${schema}.kept_texts (
      run bigint NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
      name text NOT NULL,
      bytes bigint NOT NULL,
      value text NOT NULL,
      crc bigint NOT NULL,
      PRIMARY KEY (run, name)
    );
    CREATE TABLE ${schema}.shown_runs (
      n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text NOT NULL UNIQUE,
      caller text NOT NULL,
      agent text NOT NULL,
      kind text NOT NULL,
      thread text,
      request text,
      status text NOT NULL,
      attempt text NOT NULL,
      stop_reason text,
      model text,
      created_at bigint NOT NULL,
      finished_at bigint,
      settled_at bigint,
      waited bigint NOT NULL DEFAULT 0,
      turns integer,
      calls integer,
      tokens bigint,
      cost double precision,
      error text,
      tools text,
      size bigint NOT NULL DEFAULT 0,
      first_event bigint NOT NULL DEFAULT 1,
      last_event bigint NOT NULL DEFAULT 0,
      hides_all integer NOT NULL DEFAULT 0,
      listens integer NOT NULL DEFAULT 1,
      title text NOT NULL,
      summary text,
      head text NOT NULL
    );
    CREATE INDEX shown_runs_of ON ${schema}.shown_runs (caller, n);
    CREATE INDEX shown_runs_in ON ${schema}.shown_runs (caller, thread, n) WHERE thread IS NOT NULL;
    CREATE INDEX shown_runs_running ON ${schema}.shown_runs (id) WHERE status = 'running';
    CREATE INDEX shown_runs_waiting_of ON ${schema}.shown_runs (caller, finished_at) WHERE status = 'waiting';
    CREATE INDEX shown_runs_waiting ON ${schema}.shown_runs (n) WHERE status = 'waiting';
    CREATE INDEX shown_runs_settled ON ${schema}.shown_runs (settled_at) WHERE status = 'waiting';
    CREATE INDEX shown_runs_ended ON ${schema}.shown_runs (settled_at, n) WHERE status = 'ended';
    CREATE TABLE ${schema}.shown_words (
      run bigint PRIMARY KEY REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      title_words text NOT NULL,
      words text NOT NULL
    );
    CREATE TABLE ${schema}.shown_results (
      run bigint PRIMARY KEY REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      value text NOT NULL,
      state text NOT NULL
    );
    CREATE TABLE ${schema}.shown_events (
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      id bigint NOT NULL,
      type text NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (run, id)
    );
    CREATE TABLE ${schema}.shown_secrets (
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      hash text NOT NULL,
      value text NOT NULL,
      PRIMARY KEY (run, hash)
    );
    CREATE TABLE ${schema}.shown_messages (
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      n integer NOT NULL,
      value text NOT NULL,
      said_by uuid NOT NULL,
      PRIMARY KEY (run, n)
    );
    CREATE TABLE ${schema}.shown_decisions (
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      n integer NOT NULL,
      note text NOT NULL,
      value text NOT NULL,
      PRIMARY KEY (run, n)
    );
    CREATE TABLE ${schema}.shown_recordings (
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      name text COLLATE "C" NOT NULL,
      size integer NOT NULL,
      value text NOT NULL,
      PRIMARY KEY (run, name)
    );
    CREATE TABLE ${schema}.shown_tags (
      tag text NOT NULL,
      run bigint NOT NULL REFERENCES ${schema}.shown_runs ON DELETE CASCADE,
      PRIMARY KEY (tag, run)
    );
    CREATE INDEX shown_tags_of ON ${schema}.shown_tags (run);`,
]

/**
 * Creates or migrates the tables, and returns their id. `schema` must be quoted. Rejects with `journal_failed` if a newer version has
 * created the tables.
 */
export async function migrate(database: Database, schema: string): Promise<string> {
  const newest = migrations.length
  if ((await versionOf(database.query, schema)) !== newest) await database.transaction((query) => migrateIn(query, schema))
  const [row] = await database.query(`SELECT id FROM ${schema}.version`)
  return String(row?.id)
}

async function migrateIn(query: Query, schema: string): Promise<void> {
  const newest = migrations.length
  // The lock makes processes that start together migrate one at a time.
  await query(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [`toolloop migrates ${schema}`])
  const version = await versionOf(query, schema)
  if (version > newest) {
    const message = `Expected the tables in ${schema} to be of version ${newest} or older, got ${version}: a newer toolloop has made them`
    throw new ToolloopError('journal_failed', message)
  }
  if (version === 0) {
    await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    // The id is part of every workflow's id. It distinguishes these workflows from those of other schemas in the database, even of a
    // deleted schema with the same name.
    await query(`CREATE TABLE ${schema}.version (version integer NOT NULL, id text NOT NULL DEFAULT left(gen_random_uuid()::text, 13))`)
    await query(`INSERT INTO ${schema}.version VALUES (0)`)
  }
  for (const migration of migrations.slice(version)) await query(migration(schema))
  await query(`UPDATE ${schema}.version SET version = $1`, [newest])
}

/** Returns the version of the tables, or 0 if the schema has no tables. */
async function versionOf(query: Query, schema: string): Promise<number> {
  // `to_regclass` is not used: once it has failed to find a table, it may not see the table after another process has created it.
  const tables = 'pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace'
  const found = await query(`SELECT 1 FROM ${tables} WHERE '"' || nspname || '"' = $1 AND relname = 'version'`, [schema])
  if (found.length === 0) return 0
  const [row] = await query(`SELECT version FROM ${schema}.version`)
  return Number(row?.version)
}
