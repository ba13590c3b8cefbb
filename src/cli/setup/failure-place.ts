import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clip } from '../../core/errors.ts'

/** The folder of this package's own code. An error thrown there is attributed to the line of the user's code that called it. */
const ownFolder = fileURLToPath(new URL('../../', import.meta.url))
/** Maximum number of modules to check for a syntax error. */
const maxChecked = 20

/**
 * Returns a text that says where a module failed to load, to append to an error message. For an error that the module threw, the text is
 * the position, such as `tools.ts:12:3`. For a syntax error, the text is the source line. If the position is unknown, the text is empty.
 * `loaded` contains the URLs of the modules in the order in which they were loaded.
 */
export function placeOfFailure(error: unknown, loaded: readonly string[], cwd: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const thrownAt = callingLine(stack, cwd)
  if (thrownAt !== undefined) return ` (${thrownAt})`
  const parsed = unparsableLine(stack) ?? (error instanceof SyntaxError ? findUnparsable(loaded) : undefined)
  if (parsed === undefined) return ''
  return `\n  ${relative(cwd, parsed.file)}:${parsed.line}\n${parsed.source.map((line) => `  ${clip(line)}`).join('\n')}`
}

/** Returns the position in the innermost stack frame that belongs to the user's code. */
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
  /** The source line, and the marks below it. */
  source: string[]
}

/**
 * Parses the text that Node.js prints above the stack of a syntax error: `file:line`, the source line, and the marks below it. For
 * TypeScript, the text also has the lines around the source line.
 */
function unparsableLine(stack: string): UnparsableLine | undefined {
  const [, path, line, block = ''] = /^((?:file:|[/[]|[A-Za-z]:\\).*):(\d+)\n([\s\S]*?)\n(?:\n|\w*Error)/.exec(stack) ?? []
  if (path === undefined || line === undefined) return undefined
  const lines = block.split('\n')
  const marks = lines.findIndex((one) => /^[ \t]*\^+[ \t]*$/.test(one))
  return { file: asPath(path), line, source: marks < 0 ? lines.slice(-1) : lines.slice(Math.max(0, marks - 1), marks + 1) }
}

/**
 * Finds the line with a syntax error. For TypeScript, the stack of the error contains the line. For an ES module, Node.js reports the line
 * only when it exits. Another Node.js process therefore checks each file, without running it.
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
