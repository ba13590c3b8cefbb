import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clip } from '../../core/errors.ts'

/** This package's own code: what it throws is the fault of the line that called it. */
const ownFolder = fileURLToPath(new URL('../../', import.meta.url))
/** Modules to look through for one that can't be parsed. */
const maxChecked = 20

/**
 * Where a module broke while it was loaded, to be put behind the reason: ` (tools.ts:12:3)` for what its code threw, the line itself for
 * what can't be parsed; empty where that can't be found out. `loaded`: URLs of the modules that were loaded, in order.
 */
export function placeOfFailure(error: unknown, loaded: readonly string[], cwd: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const thrownAt = callingLine(stack, cwd)
  if (thrownAt !== undefined) return ` (${thrownAt})`
  const parsed = unparsableLine(stack) ?? (error instanceof SyntaxError ? findUnparsable(loaded) : undefined)
  if (parsed === undefined) return ''
  return `\n  ${relative(cwd, parsed.file)}:${parsed.line}\n${parsed.source.map((line) => `  ${clip(line)}`).join('\n')}`
}

/** The innermost line of a stack that is the user's own. */
function callingLine(stack: string, cwd: string): string | undefined {
  for (const [, path = '', line, column] of stack.matchAll(
    /^\s+at (?:.*\()?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*):(\d+):(\d+)\)?$/gm,
  )) {
    const file = asPath(path)
    if (!file.startsWith(ownFolder) && !file.includes('node_modules')) return `${relative(cwd, file)}:${line}:${column}`
  }
  return undefined
}

interface UnparsableLine {
  file: string
  line: string
  /** The line, and marks below it. */
  source: string[]
}

/** What Node.js writes above the stack of an error of its parser: `file:line`, the line (of TypeScript also lines around it), and marks. */
function unparsableLine(stack: string): UnparsableLine | undefined {
  const [, path, line, block = ''] = /^((?:file:|[/[]|[A-Za-z]:\\).*):(\d+)\n([\s\S]*?)\n(?:\n|\w*Error)/.exec(stack) ?? []
  if (path === undefined || line === undefined) return undefined
  const lines = block.split('\n')
  const marks = lines.findIndex((one) => /^[ \t]*\^+[ \t]*$/.test(one))
  return { file: asPath(path), line, source: marks < 0 ? lines.slice(-1) : lines.slice(Math.max(0, marks - 1), marks + 1) }
}

/**
 * Of an ES module Node.js says only on its way out which line can't be parsed. So it is asked for that, without running anything. TypeScript
 * has its line in the error.
 */
function findUnparsable(loaded: readonly string[]): UnparsableLine | undefined {
  const files = loaded.filter((url) => url.startsWith('file:') && !url.includes('/node_modules/')).map((url) => fileURLToPath(url))
  const modules = files.filter((file) => ['.js', '.mjs'].includes(extname(file)) && !file.startsWith(ownFolder))
  for (const file of modules.reverse().slice(0, maxChecked)) {
    const { stderr } = spawnSync(process.execPath, ['--check', '--input-type=module'], { input: readFileSync(file), encoding: 'utf8' })
    const found = unparsableLine(stderr)
    if (found !== undefined) return { ...found, file }
  }
  return undefined
}

function asPath(path: string): string {
  return path.startsWith('file:') ? fileURLToPath(path) : path
}
