import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeServer } from '../../close-server.ts'
import { Watch } from './open-tools.ts'

/** A task as the server stores it. */
interface KeptTask {
  id: string
  status: string
  statusMessage?: string
  result?: object
  error?: object
  inputRequests?: Record<string, object>
  ttl: number | null
  /** The request for its result, open until there is one (2025-11-25). */
  waiting?: { response: ServerResponse; id: unknown }
}

interface Sent {
  method: string
  params: Record<string, unknown>
  headers: Record<string, unknown>
}

/**
 * An MCP server over HTTP that stores the tasks its calls become, of either revision, and outlives its clients. The test controls its
 * progress.
 */
export class TaskServer implements AsyncDisposable {
  readonly tasks = new Map<string, KeptTask>()
  /** All requests except those for lists. */
  readonly sent: Sent[] = []
  /** Answers to its own requests. */
  readonly answers: unknown[] = []
  readonly watch = new Watch()
  /** Fails all requests about tasks, as if it were overloaded. */
  isBroken = false
  /** Accepts all requests about tasks, and never answers them. */
  isSilent = false
  /** Knows no session until the next handshake. */
  hasForgotten = false
  /** The questions of a call before it becomes a task, by the server's names (2026-07-28). */
  asksFirst: Record<string, object> | undefined
  readonly #revision: '2025-11-25' | '2026-07-28'
  readonly #taskSupport: string
  #http = createServer()

  constructor(revision: '2025-11-25' | '2026-07-28', taskSupport = 'required') {
    this.#revision = revision
    this.#taskSupport = taskSupport
  }

  async start(): Promise<this> {
    this.#http.on('request', async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      this.#take(JSON.parse(body), request.headers, response)
    })
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve))
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`
  }

  count(method: string): number {
    return this.sent.filter((one) => one.method === method).length
  }

  /** Waits until that many such requests have arrived. */
  until(method: string, count = 1): Promise<void> {
    return this.watch.until(() => this.count(method) >= count)
  }

  change(id: string, change: Partial<KeptTask>): void {
    const task = this.tasks.get(id)
    if (task === undefined) return
    Object.assign(task, change)
    if (task.waiting !== undefined && task.result !== undefined) this.#end(task.waiting.response, task.waiting.id, task.result)
  }

  finish(id: string, text: string): void {
    this.change(id, { status: 'completed', result: { content: [{ type: 'text', text }] } })
  }

  /** Reports a task's progress during the request for its result (2025-11-25). */
  progressOn(id: string, progress: number): void {
    const { _meta: meta } = this.sent.find(({ method }) => method === 'tools/call')?.params ?? {}
    const { progressToken } = meta as { progressToken: string }
    const message = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } }
    this.tasks.get(id)?.waiting?.response.write(`data: ${JSON.stringify(message)}\n\n`)
  }

  /** Asks during the request for the task's result (2025-11-25). */
  askOn(id: string, request: object): void {
    const { response } = this.tasks.get(id)?.waiting ?? {}
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId: id } }
    const { method, params } = request as { method: string; params: object }
    response?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: `ask-${id}`, method, params: { ...params, _meta } })}\n\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeServer(this.#http)
  }

  #take(
    message: { id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown },
    headers: object,
    response: ServerResponse,
  ): void {
    const { id, method = '', params = {} } = message
    if (method === '') this.answers.push(message.result)
    else if (!method.endsWith('/list')) this.sent.push({ method, params, headers: { ...headers } })
    if (id === undefined || method === '') response.writeHead(202).end()
    else this.#answer(id, method, params, response)
    this.watch.changed()
  }

  #answer(id: unknown, method: string, params: Record<string, unknown>, response: ServerResponse): unknown {
    const isModern = this.#revision === '2026-07-28'
    const reply = (result: object) =>
      this.#json(response, { jsonrpc: '2.0', id, result: { ...(isModern ? { resultType: 'complete' } : {}), ...result } })
    const refuse = (code: number, text: string) => this.#json(response, { jsonrpc: '2.0', id, error: { code, message: text } })
    const fresh = isModern ? { ttlMs: 0, cacheScope: 'private' } : {}
    const serverInfo = { name: 'tasks', version: '1' }
    if (method.startsWith('tasks/') && this.isSilent) return
    if (method.startsWith('tasks/') && this.isBroken) return void response.writeHead(503).end('busy')
    if (method === 'initialize' || method === 'server/discover') this.hasForgotten = false
    if (this.hasForgotten) return void response.writeHead(404).end()
    const task = this.tasks.get(String(params.taskId))
    switch (method) {
      case 'initialize': {
        if (isModern) return refuse(-32601, 'no such method')
        const capabilities = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } }
        return reply({ protocolVersion: '2025-11-25', capabilities, serverInfo })
      }
      case 'server/discover': {
        if (!isModern) return refuse(-32601, 'no such method')
        const capabilities = { tools: {}, resources: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
        return reply({
          supportedVersions: ['2026-07-28'],
          capabilities,
          _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
          ...fresh,
        })
      }
      case 'tools/list':
        return reply({
          tools: [{ name: 'work', inputSchema: { type: 'object' }, execution: { taskSupport: this.#taskSupport } }],
          ...fresh,
        })
      case 'tools/call': {
        if (this.asksFirst !== undefined && params.inputResponses === undefined)
          return reply({ resultType: 'input_required', inputRequests: this.asksFirst })
        if (!isModern && params.task === undefined) return reply({ content: [{ type: 'text', text: 'at once' }] })
        const made: KeptTask = { id: `task-${this.tasks.size + 1}`, status: 'working', ttl: null }
        this.tasks.set(made.id, made)
        return isModern ? reply({ ...this.#shown(made), resultType: 'task' }) : reply({ task: this.#shown(made) })
      }
      case 'resources/read':
        return reply({ contents: [{ uri: params.uri, text: 'what is there' }], ...fresh })
      case 'tasks/get':
        return task === undefined ? refuse(-32602, 'Task not found') : reply(this.#shown(task))
      case 'tasks/result': {
        if (task === undefined) return refuse(-32602, 'Task not found')
        if (task.error !== undefined) return this.#json(response, { jsonrpc: '2.0', id, error: task.error })
        if (task.result !== undefined) return reply(task.result)
        task.waiting = { response, id }
        return void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      }
      case 'tasks/update':
      case 'tasks/cancel':
        if (task !== undefined && method === 'tasks/cancel') task.status = 'cancelled'
        return task === undefined ? refuse(-32602, 'Task not found') : reply(isModern ? {} : this.#shown(task))
      default:
        return refuse(-32601, 'no such method')
    }
  }

  #shown({ id: taskId, ttl, result, error, inputRequests, waiting: _waiting, ...rest }: KeptTask): object {
    const at = new Date().toISOString()
    const base = { taskId, createdAt: at, lastUpdatedAt: at, ...rest }
    if (this.#revision === '2025-11-25') return { ...base, ttl, pollInterval: 50 }
    return {
      ...base,
      ttlMs: ttl,
      pollIntervalMs: 50,
      ...(result && { result }),
      ...(error && { error }),
      ...(inputRequests && { inputRequests }),
    }
  }

  #end(response: ServerResponse, id: unknown, result: object): void {
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  }

  #json(response: ServerResponse, message: object): void {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(message))
  }
}
