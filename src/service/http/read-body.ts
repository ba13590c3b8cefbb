import type { IncomingMessage } from 'node:http'
import { parseUpTo } from '../../core/json.ts'
import { giveWay } from '../../core/time/give-way.ts'
import type { SchemaCheck } from './check-schema.ts'
import { describeProblems } from './check-schema.ts'
import { HttpProblem } from './problem.ts'

/** Maximum nesting depth. Deeper values could overflow the stack of recursive functions. */
const mostDepth = 64

/** Maximum number of values in a body. `mcp` is the lowest, because the MCP SDK validates the body a second time. */
export const mostValues = { run: 50_000, admin: 20_000, mcp: 10_000 } as const

/** Maximum size of a body for which all problems are reported, in characters. For a larger body, only the first problem is reported. */
const mostCheckedWhole = 20_000

interface BodyOptions {
  maxBytes: number
  maxValues: number
  check: SchemaCheck
  /** The request of the Node.js server. If it is given, the body is read without web streams. */
  incoming?: IncomingMessage | undefined
}

/** Reads and validates the JSON body of a request. Rejects with an `HttpProblem` if the body is invalid, too large or nested too deeply. */
export async function readBody(request: Request, { maxBytes, maxValues, check, incoming }: BodyOptions): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new HttpProblem(415, 'unsupported_media_type', 'Expected `content-type: application/json`', { param: 'content-type' })
  }
  if (!/^(identity)?$/.test(request.headers.get('content-encoding') ?? '')) {
    throw new HttpProblem(415, 'unsupported_encoding', 'Expected a body without `content-encoding`', { param: 'content-encoding' })
  }
  const text = await readText(request, maxBytes, incoming)
  await giveWay()
  const body = parseBody(text, maxValues)
  const objection = objectionTo(body, 1)
  if (objection !== undefined) throw new HttpProblem(400, 'invalid_json', objection)
  const problems = check(body, { all: text.length <= mostCheckedWhole })
  if (problems.length > 0) {
    const param = problems[0]?.path.slice(1).replaceAll('/', '.') ?? ''
    throw new HttpProblem(400, 'invalid_request', `The body is invalid: ${describeProblems(problems)}`, { param, problems })
  }
  await giveWay()
  return body
}

async function readText(request: Request, maxBytes: number, incoming: IncomingMessage | undefined): Promise<string> {
  const tooLarge = (got: string) => new HttpProblem(413, 'body_too_large', `Expected a body of at most ${maxBytes} bytes, got ${got}`)
  // Refuses the request before its body arrives, if the announced length is too large.
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > maxBytes) throw tooLarge(`${announced}`)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    const take = (chunk: Uint8Array) => {
      bytes += chunk.byteLength
      if (bytes > maxBytes) throw tooLarge('more')
      text += decoder.decode(chunk, { stream: true })
    }
    if (incoming !== undefined && !incoming.readableDidRead) await readChunks(incoming, take)
    else for await (const chunk of request.body ?? []) take(chunk)
    return text + decoder.decode()
  } catch (error) {
    if (error instanceof HttpProblem) throw error
    throw new HttpProblem(400, 'invalid_body', 'The body is incomplete or not UTF-8', { cause: error })
  }
}

/** Reads a stream to its end. Rejects if the stream ends early, or if `take` throws. After an error, the rest of the stream is not read. */
function readChunks(incoming: IncomingMessage, take: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => incoming.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
    const fail = (error: unknown) => {
      leave()
      reject(error)
    }
    const onData = (chunk: Uint8Array | string) => {
      try {
        take(typeof chunk === 'string' ? Buffer.from(chunk, incoming.readableEncoding ?? 'utf8') : chunk)
      } catch (error) {
        incoming.pause()
        fail(error)
      }
    }
    const onEnd = () => {
      leave()
      resolve()
    }
    const onClose = () => fail(incoming.errored ?? new Error('The connection was closed'))
    incoming.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose)
    if (incoming.destroyed) onClose()
  })
}

function parseBody(text: string, maxValues: number): unknown {
  let body: unknown
  try {
    body = parseUpTo(maxValues, text)
  } catch (error) {
    throw new HttpProblem(400, 'invalid_json', 'The body is not JSON', { cause: error })
  }
  if (body === undefined) throw new HttpProblem(400, 'invalid_request', `Expected a body of at most ${maxValues} values, got more`)
  return body
}

/**
 * Returns the reason to refuse a value, or undefined if it is acceptable. The key `__proto__` is refused because it could change a
 * prototype.
 */
export function objectionTo(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > mostDepth) return `Nested deeper than ${mostDepth} levels`
  if (!Array.isArray(value) && Object.hasOwn(value, '__proto__')) return 'The key `__proto__` is not allowed'
  for (const item of Object.values(value)) {
    const objection = objectionTo(item, depth + 1)
    if (objection !== undefined) return objection
  }
  return undefined
}
