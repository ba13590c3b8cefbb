import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createLogger } from '../../src/core/logger.ts'
import {
  type ConfigState,
  createService,
  type ListeningService,
  listen,
  type Service,
  type ServiceOptions,
} from '../../src/service/index.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'

export const token = 'test-token-operator'

export interface StartedService {
  service: Service
  listening: ListeningService
  url: string
  /** `fetch` with the token, at a path. */
  ask(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  log(): string
}

/** A service on a port of its own, over real HTTP, ended with the test. */
export async function startService(options: ServiceOptions = {}, { port = 0 }: { port?: number } = {}): Promise<StartedService> {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const service = createService({ token, logger, env: {}, ...options })
  const listening = await listen(service, { port })
  onTestFinished(() => listening.close(0))
  const { url } = listening
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
  return { service, listening, url, ask, post, log: () => lines.join('') }
}

/** A folder with a configuration file, removed when the test is over. */
export async function configFile(text: string): Promise<{ folder: string; file: string; write(text: string): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-service-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolloop.yaml')
  // Written in one piece for readers in this process; other tests cover a file that is written bit by bit.
  const write = async (content: string) => writeFileSync(file, content)
  await write(text)
  return { folder, file, write }
}

/** Collects reloads; `next()` resolves with the next one that it has not returned yet. */
export function reloads(): { onReload(state: ConfigState): void; next(): Promise<ConfigState> } {
  const seen: ConfigState[] = []
  const waiting: ((state: ConfigState) => void)[] = []
  return {
    onReload: (state) => {
      const resolve = waiting.shift()
      if (resolve === undefined) seen.push(state)
      else resolve(state)
    },
    next: () => {
      const state = seen.shift()
      return state === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(state)
    },
  }
}

export interface SseFrame {
  id?: string
  event: string
  data: string
}

/** The frames of an event stream, comments left out. */
export async function* framesOf(response: Response): AsyncGenerator<SseFrame> {
  const decoder = new TextDecoder()
  // A frame may come in very many chunks: they are put together once, when its end is there.
  let parts: string[] = []
  for await (const chunk of response.body ?? []) {
    const piece = decoder.decode(chunk, { stream: true })
    const borders = `${parts.at(-1)?.at(-1) ?? ''}${piece}`
    parts.push(piece)
    if (!borders.includes('\n\n')) continue
    const frames = parts.join('').split('\n\n')
    parts = [frames.pop() ?? '']
    for (const text of frames) {
      const frame = frameOf(text)
      if (frame !== undefined) yield frame
    }
  }
}

function frameOf(text: string): SseFrame | undefined {
  const lines = text.split('\n').filter((line) => !line.startsWith(':'))
  const fields = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  const id = fields.get('id')
  return fields.size === 0
    ? undefined
    : { ...(id === undefined ? {} : { id }), event: fields.get('event') ?? 'message', data: fields.get('data') ?? '' }
}

export async function allFrames(response: Response): Promise<SseFrame[]> {
  const frames: SseFrame[] = []
  for await (const frame of framesOf(response)) frames.push(frame)
  return frames
}

interface Pending {
  toolCallId: string
  tool: string
  fingerprint: string
  args: Record<string, unknown>
  hidden?: string[]
}

type PendingCall = Pending & { runId: string }

/** The fields of all the service's responses. */
export interface Answer {
  id: string
  status: string
  stopReason: string
  owner: string
  decisions: object[]
  output: string
  etag: string
  text: string
  config: Record<string, unknown>
  state: ConfigState
  models: { name: string; provider: string }[]
  pending: [PendingCall, ...PendingCall[]]
  events: { first: number; last: number }
  result: { messages: { role: string }[]; toolCalls: { outcome: string; content: string; decision?: object }[]; state?: unknown }
  data: [Answer]
  error: { message: string; code: string; param: string; problems: { path: string; message: string }[] }
}

export async function json(response: Response | Promise<Response>): Promise<Answer> {
  return (await (await response).json()) as Answer
}

/** A tool whose calls need an approval, and the arguments it was run with. */
export function payTool(): { tool: AnyTool; paid: unknown[] } {
  const paid: unknown[] = []
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: true,
    parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    execute: (args) => {
      paid.push(args)
      return `paid ${args.euros}`
    },
  })
  return { tool, paid }
}
