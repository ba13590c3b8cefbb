import { DatabaseSync } from 'node:sqlite'

/**
 * A query for the structure of each table. Comparing the `CREATE TABLE` statements would not work, because SQLite rewrites them when a
 * table is altered.
 */
const shapes = `
  SELECT t.name,
    (SELECT group_concat(c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk, ', ') FROM pragma_table_xinfo(t.name) c) || '; ' ||
    t.strict || t.wr || '; ' || coalesce((
      SELECT group_concat(columns, ', ') FROM (
        SELECT (SELECT group_concat(i.name, '+') FROM pragma_index_info(u.name) i) AS columns
        FROM pragma_index_list(t.name) u WHERE u."unique" = 1 ORDER BY columns
      )
    ), '') AS shape
  FROM pragma_table_list t WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`

/**
 * Describes the first table that differs from the tables that these migrations create. Returns undefined if no table differs. Extra tables
 * are allowed.
 */
export function differenceOf(database: DatabaseSync, migrations: readonly string[]): string | undefined {
  const expected = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) expected.exec(migration)
    const found = shapesOf(database)
    for (const [table, shape] of shapesOf(expected)) {
      if (!found.has(table)) return `no table called \`${table}\``
      if (found.get(table) !== shape) return `another \`${table}\``
    }
    return undefined
  } finally {
    expected.close()
  }
}

function shapesOf(database: DatabaseSync): Map<string, string> {
  return new Map(
    database
      .prepare(shapes)
      .all()
      .map(({ name, shape }) => [String(name), String(shape)]),
  )
}
