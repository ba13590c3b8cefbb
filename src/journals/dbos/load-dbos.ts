import { ToolloopError } from '../../core/errors.ts'

export type Dbos = typeof import('@dbos-inc/dbos-sdk')
export type Pg = typeof import('pg')

/**
 * Loads DBOS and `pg`. Loading is synchronous, because a workflow must be registered before the application launches DBOS. Throws
 * `missing_dependency` if a package is not installed.
 */
export function loadDbos(): { dbos: Dbos; pg: Pg } {
  const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)
  const load = (name: string): unknown => {
    try {
      return require(name)
    } catch (cause) {
      const message = `Expected the package \`${name}\`, which \`dbosJournal\` needs, got none: npm install @dbos-inc/dbos-sdk pg`
      throw new ToolloopError('missing_dependency', message, { cause })
    }
  }
  return { dbos: load('@dbos-inc/dbos-sdk') as Dbos, pg: load('pg') as Pg }
}
