import { createRequire } from 'node:module'

/** This package's version, which both sides of a connection are told. */
export function ownVersion(): string {
  const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string }
  return version
}
