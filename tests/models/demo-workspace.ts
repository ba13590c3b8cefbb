import picomatch from 'picomatch'
import { expect } from 'vitest'
import type { ChatMessage, Json, JsonObject, ToolCall } from '../../src/core/messages.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { demoModel } from '../../src/models/demo/demo.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'

/** A small workspace in memory, and tools over it that answer in the shapes of the built-in ones, written apart from them. */
export type Workspace = Record<string, string>

function text(lines: number, word = 'line'): string {
  return Array.from({ length: lines }, (_, at) => `${word} ${at + 1}\n`).join('')
}

export const workspace: Workspace = {
  'README.md': `# Sample\n\nThe first paragraph has seven words here.\nTODO: more\n${text(20)}`,
  'package.json': `${JSON.stringify(
    {
      name: 'sample',
      version: '1.2.3',
      description: 'A sample to look at.',
      license: 'MIT',
      engines: { node: '>=22' },
      scripts: { test: 'vitest run', build: 'tsc' },
      dependencies: { zod: '^4.0.0' },
      devDependencies: { vitest: '5.1.0', typescript: '7.0.2' },
    },
    null,
    2,
  )}\n`,
  'src/index.ts': text(12),
  'src/agent/runner.ts': text(48),
  'src/agent/turn.ts': `// TODO first\nexport function startTurn() {}\nstartTurn() // TODO twice TODO\n${text(28)}`,
  'src/agent/deep/part.mts': text(3),
  'src/tools/tool.ts': text(20),
  'src/tools/view.tsx': text(7, 'a much longer line than the others, so that bytes and lines differ'),
  'src/tools/runner.ts': text(9),
  'src/legacy.js': text(5),
  'scripts/main.py': text(9),
  'scripts/build.py': text(31),
  'scripts/empty.py': '',
  'docs/guide.md': `startTurn is described here.\n${text(59)}`,
  'docs/notes/old.md': text(60),
  'docs/logo.png': '\u0000\u0001binary',
  'config/a.yaml': text(4),
  'config/b.yml': text(14),
  'config/c.json': text(2),
  'tests/agent/runner.test.ts': text(77),
  'tests/agent/turn.test.ts': text(25),
  'tests/tools/tool.spec.ts': text(10),
  'tests/helper.ts': text(6),
  'tests/data.json': text(3),
}

/** The paths under `folder` whose names end so; what the tests compare with. */
export function pathsUnder(folder: string, endings?: readonly string[], files: Workspace = workspace): string[] {
  return Object.keys(files).filter(
    (path) =>
      (folder === '.' || path.startsWith(`${folder}/`)) && (endings === undefined || endings.some((ending) => path.endsWith(ending))),
  )
}

export function linesOf(path: string, files: Workspace = workspace): number {
  return (files[path] ?? '').split('\n').length - 1
}

export function bytesOf(path: string, files: Workspace = workspace): number {
  return Buffer.byteLength(files[path] ?? '')
}

/** Later entries were changed later. */
function changedAt(path: string, files: Workspace): string {
  return new Date(Date.UTC(2026, 0, 1 + Object.keys(files).indexOf(path), 10, 30)).toISOString()
}

type ToolFunction = (args: JsonObject) => Json

function folderOf(args: JsonObject, files: Workspace): string {
  const path = typeof args.path === 'string' ? args.path : '.'
  const exists = path === '.' || Object.hasOwn(files, path) || Object.keys(files).some((name) => name.startsWith(`${path}/`))
  if (!exists) throw new Error(`No such file or folder: ${path}`)
  return path
}

function matching(args: JsonObject, files: Workspace): string[] {
  const folder = folderOf(args, files)
  const fits = typeof args.pattern === 'string' ? picomatch(args.pattern, { basename: true }) : () => true
  return Object.keys(files).filter((path) => {
    const below = path === folder ? path : folder === '.' ? path : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined
    if (below === undefined || !fits(path.slice(path.lastIndexOf('/') + 1))) return false
    return args.recursive !== false || !below.includes('/')
  })
}

function listFolders(folder: string, files: Workspace, isDeep: boolean): string[] {
  const folders = Object.keys(files).flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
  )
  const below = (path: string) => (folder === '.' ? path : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '')
  return [...new Set(folders)].filter((path) => below(path) !== '' && (isDeep || !below(path).includes('/'))).sort()
}

function listFiles(args: JsonObject, files: Workspace): Json {
  const withLines = args.lines === true
  const isText = (path: string) => !files[path]?.includes('\u0000')
  const paths = args.folders === true ? listFolders(folderOf(args, files), files, args.recursive !== false) : matching(args, files)
  const entries = paths.map((path) => ({
    path,
    bytes: bytesOf(path, files),
    ...(withLines && isText(path) ? { lines: linesOf(path, files) } : {}),
    modified: changedAt(path, files),
  }))
  const key = (entry: (typeof entries)[number]): number | string =>
    args.sort === 'size'
      ? entry.bytes
      : args.sort === 'lines'
        ? (entry.lines ?? -1)
        : args.sort === 'modified'
          ? entry.modified
          : entry.path
  entries.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (args.order === 'desc' ? -1 : 1) || (a.path < b.path ? -1 : 1))
  const limit = typeof args.limit === 'number' ? args.limit : 100
  return {
    path: args.path ?? '.',
    count: entries.length,
    totalBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(withLines ? { totalLines: entries.reduce((sum, { lines }) => sum + (lines ?? 0), 0) } : {}),
    files: entries.slice(0, limit),
    ...(entries.length > limit ? { truncated: true } : {}),
  }
}

function searchFiles(args: JsonObject, files: Workspace): Json {
  const query = String(args.query)
  const pattern = new RegExp(
    args.regex === true ? query : query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    args.ignoreCase === true ? 'i' : '',
  )
  const matches = matching(args, files).flatMap((path) =>
    (files[path] ?? '').split('\n').flatMap((line, at) => (pattern.test(line) ? [{ path, line: at + 1, text: line }] : [])),
  )
  const limit = typeof args.limit === 'number' ? args.limit : 50
  const found = new Set(matches.map(({ path }) => path)).size
  return {
    query,
    count: matches.length,
    files: found,
    matches: matches.slice(0, limit),
    ...(matches.length > limit ? { truncated: true } : {}),
  }
}

function readFile(args: JsonObject, files: Workspace): Json {
  const path = String(args.path)
  const content = files[path]
  if (content === undefined) throw new Error(`No such file: ${path}`)
  const lines = content === '' ? [] : content.replace(/\n$/, '').split('\n')
  const from = typeof args.from === 'number' ? args.from : 1
  const to = Math.min(typeof args.to === 'number' ? args.to : lines.length, lines.length)
  if (from > Math.max(lines.length, 1)) throw new Error(`The file has only ${lines.length} lines`)
  return {
    path,
    from,
    to,
    totalLines: lines.length,
    bytes: Buffer.byteLength(content),
    text: lines
      .slice(from - 1, to)
      .map((line) => `${line}\n`)
      .join(''),
  }
}

/** Only what the tests need: numbers, signs, brackets. */
export function evaluate(expression: string): number {
  if (!/^[\d\s.+*/^()-]|sqrt|cbrt/.test(expression)) throw new Error(`Not arithmetic: ${expression}`)
  const script = expression.replaceAll('^', '**').replace(/\b(sqrt|cbrt)\b/g, 'Math.$1')
  const value: unknown = new Function(`return (${script})`)()
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`No number: ${expression}`)
  return value
}

/** A clock that stands at 2026-02-03 04:05:06 UTC, a Tuesday. */
function currentTime(args: JsonObject): Json {
  const now = new Date(Date.UTC(2026, 1, 3, 4, 5, 6))
  const timeZone = typeof args.timeZone === 'string' ? args.timeZone : 'UTC'
  const show = (options: Intl.DateTimeFormatOptions, locale = 'sv-SE') => now.toLocaleString(locale, { timeZone, ...options })
  const date = show({ dateStyle: 'short' })
  const time = show({ timeStyle: 'medium' })
  return { iso: `${date}T${time}`, date, time, weekday: show({ weekday: 'long' }, 'en-US'), timeZone, utcOffset: '+00:00' }
}

const page = { title: 'Example Domain', text: 'This domain is for use in examples.\n' }

function toolsOver(files: Workspace = workspace): Record<string, ToolFunction> {
  return {
    list_files: (args) => listFiles(args, files),
    read_file: (args) => readFile(args, files),
    search_files: (args) => searchFiles(args, files),
    calculate: ({ expression }) => ({ expression: expression ?? '', result: evaluate(String(expression)) }),
    current_time: currentTime,
    fetch_url: ({ url }) => ({
      url: url ?? '',
      status: 200,
      contentType: 'text/html',
      text: `Title: ${page.title}\n\n${page.text}`,
      bytes: 1256,
    }),
  }
}

/** The arguments the built-in tools take, so that a call with any other is noticed. */
const parameters: Record<string, string[]> = {
  list_files: ['path', 'pattern', 'recursive', 'lines', 'sort', 'order', 'limit', 'folders'],
  read_file: ['path', 'from', 'to', 'maxBytes'],
  search_files: ['query', 'regex', 'path', 'pattern', 'ignoreCase', 'context', 'limit'],
  calculate: ['expression'],
  current_time: ['timeZone'],
  fetch_url: ['url', 'maxBytes'],
}

export function definitionsOf(names: readonly string[] = Object.keys(parameters)): ToolDefinition[] {
  return names.map((name) => ({
    type: 'function',
    function: {
      name,
      description: name,
      parameters: { type: 'object', properties: Object.fromEntries((parameters[name] ?? []).map((key) => [key, {}])) },
    },
  }))
}

interface Call {
  tool: string
  args: JsonObject
}

export interface Conversation {
  /** Of the last request. */
  answer: string
  /** Of each request. */
  answers: string[]
  /** Of the last request, in order. */
  calls: Call[]
  /** How many times the model was asked for the last request. */
  steps: number
  messages: ChatMessage[]
}

export interface ConverseOptions extends Omit<ModelRequest, 'messages'> {
  files?: Workspace
  /** Tools beside or instead of those over the workspace. */
  run?: Record<string, ToolFunction>
}

/** Puts requests to the demo one after another, running its calls as an agent would, until each is answered. */
export async function converse(requests: string | readonly string[], options: ConverseOptions = {}): Promise<Conversation> {
  const { files = workspace, run = {}, ...request } = options
  const tools = { ...toolsOver(files), ...run }
  const offered = request.tools ?? [
    ...definitionsOf(),
    ...definitionsOf(Object.keys(run).filter((name) => !Object.hasOwn(parameters, name))),
  ]
  const messages: ChatMessage[] = []
  const answers: string[] = []
  let calls: Call[] = []
  let steps = 0
  for (const content of typeof requests === 'string' ? [requests] : requests) {
    messages.push({ role: 'user', content })
    calls = []
    for (steps = 1; ; steps++) {
      // An agent's default limit: a model that needs more rounds never answers.
      if (steps > 5) throw new Error(`No answer to ${JSON.stringify(content)} in 5 steps: ${JSON.stringify(calls)}`)
      const { text, toolCalls, finishReason } = await demoModel().generate({ ...request, messages, tools: offered })
      expect(finishReason).toBe(toolCalls.length > 0 ? 'tool_calls' : 'stop')
      if (toolCalls.length === 0) {
        expect(text).not.toBe('')
        messages.push({ role: 'assistant', content: text })
        answers.push(text)
        break
      }
      messages.push({ role: 'assistant', content: text, toolCalls })
      for (const call of toolCalls) {
        const args = checkedArguments(call, messages)
        calls.push({ tool: call.function.name, args })
        messages.push(resultOf(call, args, tools))
      }
    }
  }
  return { answer: answers.at(-1) ?? '', answers, calls, steps, messages }
}

function checkedArguments({ id, function: { name, arguments: json } }: ToolCall, messages: readonly ChatMessage[]): JsonObject {
  const ids = messages.flatMap((message) => ('toolCalls' in message ? message.toolCalls.map((call) => call.id) : []))
  expect(ids.filter((other) => other === id)).toEqual([id])
  const args: JsonObject = JSON.parse(json)
  if (parameters[name] !== undefined) expect(parameters[name]).toEqual(expect.arrayContaining(Object.keys(args)))
  return args
}

function resultOf({ id, function: { name } }: ToolCall, args: JsonObject, tools: Record<string, ToolFunction>): ChatMessage {
  try {
    const value = tools[name]?.(args)
    return { role: 'tool', toolCallId: id, name, content: typeof value === 'string' ? value : JSON.stringify(value) }
  } catch (error) {
    return { role: 'tool', toolCallId: id, name, content: error instanceof Error ? error.message : String(error), isError: true }
  }
}
