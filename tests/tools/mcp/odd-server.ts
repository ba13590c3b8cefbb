/** An MCP server written by hand, as a program, so that it can break the protocol. Its first argument, as JSON, says what it does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Oddity {
  tools?: object[]
  /** Replaces the normal start. */
  start?: 'silent' | 'exit' | keyof typeof floods | 'no-tools-list' | 'endless-list' | 'many-tools'
  /** Printed before the first message. */
  greeting?: string
  /** Ignores the end of its input and requests to end, as does a child that holds its pipes. */
  stubborn?: boolean
  /** Reports a change each time its tools are listed. */
  restless?: boolean
  /** Printed to standard error at the start. */
  stderr?: string
}

interface Message {
  id?: number | string
  error?: { code: number }
  method?: string
  params?: { name?: string; arguments?: Record<string, unknown>; _meta?: { progressToken?: number }; requestId?: number; cursor?: string }
}

const oddity: Oddity = JSON.parse(process.argv[2] ?? '{}')
/** Printed again and again. */
const floods = {
  flood: 'all work and no play\n'.repeat(10_000),
  'endless-line': 'x'.repeat(100_000),
  newlines: '\n'.repeat(100_000),
  objects: '{}\n'.repeat(10_000),
  values: '{"a":[],'.repeat(10_000),
}
const flood = Object.entries(floods).find(([name]) => name === oddity.start)?.[1]
// Longer than a command line may be.
let tools = (oddity.tools ?? []).map((tool) => (Object(tool).name === 'huge' ? { ...tool, description: 'x'.repeat(300_000) } : tool))
const grownFrom = tools.length
const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]))
let lists = 0
let child: ChildProcess | undefined
const cancelled: unknown[] = []
const pending = new Map<string, number>()
const asking = 'asked: '
let asked: { id: number | undefined; answers: string[]; open: number } | undefined

const print = (text: string) => void process.stdout.write(text)
const send = (message: object) => print(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answer = (id: number | undefined, result: object) => send({ id, result })
const text = (value: string) => ({ content: [{ type: 'text', text: value }] })

type Call = (id: number | undefined, args: Record<string, unknown>, progressToken: number | undefined, meta: object | undefined) => void

const calls: Record<string, Call> = {
  meta: (id, _args, _progressToken, meta) => answer(id, text(JSON.stringify(meta))),
  echo: (id, args) => answer(id, text(JSON.stringify(args))),
  env: (id) => answer(id, text(JSON.stringify(process.env))),
  pid: (id) => answer(id, text(String(process.pid))),
  child: (id) => answer(id, text(String(child?.pid))),
  die: () => process.exit(7),
  hang: (id, { key = '' }, progressToken) => {
    if (progressToken !== undefined) {
      send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'half' } })
    }
    pending.set(String(key), id ?? 0)
  },
  /** Progress and answer in one piece. */
  hasty: (id, _args, progressToken) => {
    const report = (progress: number) => ({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
    const messages = [report(1), report(2), { jsonrpc: '2.0', id, result: text('done') }]
    print(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  },
  /** Ends right after the answer. */
  parting: (id) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: text('farewell') })}\n`, () => process.exit(0)),
  release: (id, { key = '' }) => {
    answer(pending.get(String(key)), text('late'))
    answer(id, text('released'))
  },
  lists: (id) => answer(id, text(String(lists))),
  big: (id, { size }) => answer(id, text(`head${'x'.repeat(Number(size))}tail`)),
  /** More parts, or more fields of tools, than the arguments of a call may have. */
  parts: (id, { count }) => answer(id, { content: Array.from({ length: Number(count) }, () => ({ type: 'text', text: 'x' })) }),
  grow: (id, { counts = [], last }) => {
    const grown = (counts as number[]).map((count, at) => ({
      name: `grown_${at}`,
      inputSchema: { type: 'object', properties: fields(count) },
    }))
    tools = [...tools.slice(0, grownFrom), ...grown, { name: last, inputSchema: { type: 'object' } }]
    send({ method: 'notifications/tools/list_changed' })
    answer(id, text('grown'))
  },
  cancelled: (id) => answer(id, text(JSON.stringify(cancelled))),
  become: (id, args) => {
    tools = Array.isArray(args.tools) ? args.tools : []
    send({ method: 'notifications/tools/list_changed' })
    answer(id, text('changed'))
  },
  /** Keeps its client busy endlessly, and never answers. */
  notices: () => pour('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'.repeat(1_000)),
  unknown: () => pour('{"jsonrpc":"2.0","method":"notifications/nothing"}\n'.repeat(1_000)),
  pings: () => pour(Array.from({ length: 1_000 }, (_, n) => `{"jsonrpc":"2.0","id":"p${n}","method":"ping"}\n`).join('')),
  answers: () => pour('{"jsonrpc":"2.0","id":4711,"result":{}}\n'.repeat(1_000)),
  /** As many requests as a busy server may send, and then the answer. */
  lively: (id) => {
    for (let n = 0; n < 50; n++) send({ id: `l${n}`, method: 'ping' })
    answer(id, text('done'))
  },
  nonsense: (id) => answer(id, { content: 'not a list' }),
  refuse: (id) => send({ id, error: { code: -32602, message: 'no such thing' } }),
  fails: (id) => answer(id, { ...text(`failed in ${process.cwd()}`), isError: true }),
  /** Exactly these characters; `ID` is that of the call. */
  raw: (id, { head = '', unit = '', count = 0, tail = '' }) =>
    print(`${head}${String(unit).repeat(Number(count))}${tail}`.replaceAll('ID', String(id))),
  /** Requests everything a client may provide, and returns the answers. */
  asks: (id) => {
    const methods = ['sampling/createMessage', 'roots/list', 'elicitation/create', 'nothing', '__proto__']
    for (const method of methods) send({ id: `${asking}${method}`, method, params: { messages: [], maxTokens: 1, message: 'x' } })
    asked = { id, answers: [], open: methods.length }
  },
  /** The answer that the test wants. */
  any: (id, { result }) => answer(id, result as object),
}

function answerRequest(id: number, method: string | undefined, params: NonNullable<Message['params']>): void {
  if (method === 'tools/call') {
    calls[params.name ?? '']?.(id, params.arguments ?? {}, params._meta?.progressToken, params._meta)
  } else if (method === 'tools/list') {
    lists++
    if (oddity.restless) send({ method: 'notifications/tools/list_changed' })
    // One per page.
    const at = Number(params.cursor ?? 0)
    if (oddity.start === 'endless-list') answer(id, { tools: [], nextCursor: String(at + 1) })
    else if (oddity.start === 'many-tools') answer(id, { tools: Array(3_000).fill(1) })
    else if (oddity.start !== 'no-tools-list') {
      answer(id, { tools: tools.slice(at, at + 1), ...(at + 1 < tools.length ? { nextCursor: String(at + 1) } : {}) })
    }
  } else if (method !== 'initialize') {
    send({ id, error: { code: -32601, message: 'Method not found' } })
  } else if (oddity.start !== 'silent' && flood === undefined) {
    const capabilities = { tools: { listChanged: true } }
    answer(id, { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'odd', version: '1' } })
  }
}

function takeAnswer(method: string, error: Message['error']): void {
  if (asked === undefined) return
  asked.answers.push(`${method}: ${error?.code ?? 'granted'}`)
  if (asked.answers.length === asked.open) answer(asked.id, text(asked.answers.sort().join()))
}

function take(line: string): void {
  const { id, method, params = {}, error }: Message = JSON.parse(line)
  if (typeof id === 'string') takeAnswer(id.slice(asking.length), error)
  else if (id !== undefined) answerRequest(id, method, params)
  else if (method === 'notifications/cancelled') cancelled.push(params.requestId)
}

if (oddity.stderr !== undefined) process.stderr.write(`${oddity.stderr}\n`)
if (oddity.greeting !== undefined) print(oddity.greeting)
if (oddity.stubborn) {
  process.on('SIGTERM', () => {})
  child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: 'inherit' })
  setInterval(() => {}, 1000)
}
if (oddity.start === 'exit') process.exit(3)
/** As fast as it is read. */
function pour(drop: string): void {
  if (process.stdout.write(drop)) setImmediate(pour, drop)
  else process.stdout.once('drain', () => pour(drop))
}
if (flood !== undefined) pour(flood)
process.stdout.on('error', () => {})
createInterface({ input: process.stdin }).on('line', take)
