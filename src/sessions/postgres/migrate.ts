import { ToolloopError } from '../../core/errors.ts'
import { inTransaction, isMissing, type PostgresPool } from './pool.ts'

/** Milliseconds since 1970 by the clock of the server, the only clock that all processes share. */
export const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * The migration at index n upgrades a schema from version n to version n + 1. A migration never changes after a release, because schemas of
 * every version exist.
 */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE TABLE ${schema}.sessions (
      n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text COLLATE "C" NOT NULL UNIQUE,
      length integer NOT NULL DEFAULT 0,
      compaction text,
      run text,
      durable integer NOT NULL DEFAULT 0,
      token text,
      owner text,
      lease bigint,
      epoch bigint,
      resumed_at bigint,
      waits_for text,
      draft text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL
    );
    CREATE INDEX sessions_changed ON ${schema}.sessions (updated_at, n);
    CREATE INDEX sessions_owned ON ${schema}.sessions (owner) WHERE owner IS NOT NULL;
    CREATE TABLE ${schema}.session_messages (
      session bigint NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
      at integer NOT NULL,
      value text NOT NULL,
      PRIMARY KEY (session, at)
    );
    CREATE TABLE ${schema}.session_runs (
      session bigint NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
      run text NOT NULL,
      outcome text NOT NULL CHECK (outcome IN ('stored', 'released')),
      first integer NOT NULL,
      PRIMARY KEY (session, run)
    );`,
]

/** How long a migration may pause between two statements before the server ends it, in milliseconds. */
const migrationIdleMs = 60_000

/** Creates the tables, or upgrades them. Several processes may call it at the same time. */
export async function migrate(pool: PostgresPool, schema: string, name: string): Promise<void> {
  await inTransaction(pool, migrationIdleMs, async (query) => {
    await query('SELECT pg_advisory_xact_lock(hashtext($1))', [`toolloop sessions ${name}`])
    // `IF NOT EXISTS` is not used, because it requires the right to create schemas even if the schema exists.
    const [there] = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name])
    if (there === undefined) await query(`CREATE SCHEMA ${schema}`)
    const [table] = await query('SELECT to_regclass($1) AS known', [`${schema}.session_schema`])
    if (table?.known === null) await query(`CREATE TABLE ${schema}.session_schema (version integer NOT NULL)`)
    const [row] = await query(`SELECT version FROM ${schema}.session_schema`)
    const version = Number(row?.version ?? 0)
    checkVersion(version, name)
    for (const migration of migrations.slice(version)) await query(migration(schema))
    await query(`DELETE FROM ${schema}.session_schema`)
    await query(`INSERT INTO ${schema}.session_schema VALUES ($1)`, [migrations.length])
  })
}

/** Rejects with `session_failed` if the tables are missing or of another version. */
export async function checkTables(pool: PostgresPool, schema: string, name: string): Promise<void> {
  let version: number
  try {
    const { rows } = await pool.query(`SELECT version FROM ${schema}.session_schema`)
    version = Number(rows[0]?.version ?? 0)
  } catch (error) {
    if (!isMissing(error)) throw error
    version = 0
  }
  checkVersion(version, name)
  if (version === migrations.length) return
  const found = version === 0 ? 'none' : `those of version ${version}`
  const message = `Expected the schema \`${name}\` to have the tables of sessions, of version ${migrations.length}, got ${found}: call \`migrate()\``
  throw new ToolloopError('session_failed', message)
}

function checkVersion(version: number, name: string): void {
  const newest = migrations.length
  if (version <= newest) return
  const message = `Expected the sessions in schema \`${name}\` to be of version ${newest} or older, got ${version}: a newer toolloop has written them`
  throw new ToolloopError('session_failed', message)
}
