import type { AgentHost } from '../agents/agent-host.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { type Answer, respondWithText } from '../http/reply.ts'
import type { Call } from '../http/route.ts'
import type { SseStreams } from '../http/sse.ts'
import type { RunWatcher } from '../runs/follow-run.ts'
import type { RunOrder } from '../runs/run-order.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ReplyFrames } from './reply-frames.ts'

/** Builds the reply to a client from the events of a run. */
export interface ClientReply extends RunWatcher {
  /** The frames of a streamed reply. Undefined if the reply is not streamed. */
  readonly frames: ReplyFrames | undefined
  /** Returns the whole reply as JSON, once the run has ended. Rejects with an `HttpProblem` if the run has no answer. */
  whole(): Promise<string>
}

interface ReplyParts {
  runs: RunStore
  streams: SseStreams
  limiter: RateLimiter
}

/** Starts a run and responds with its reply. If the client disconnects, the run is aborted, because nobody else waits for it. */
export async function answerClient(
  order: RunOrder,
  reply: ClientReply,
  { request, caller }: Call,
  { runs, streams, limiter }: ReplyParts,
): Promise<Answer> {
  const { frames } = reply
  if (frames === undefined) limiter.checkCharacters(caller.name)
  const release = frames === undefined ? () => {} : limiter.admitStream(caller.name)
  try {
    const run = await runs.start(order, reply)
    const headers = { 'x-run-id': run.id }
    const leave = () => run.abort('the client has gone')
    if (frames !== undefined) {
      frames.onOverflow = leave
      const onClose = (ending: 'ended' | 'gone') => {
        release()
        if (ending === 'gone') leave()
      }
      return streams.respond(frames, { headers, onClose })
    }
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      if (request.signal.aborted) leave()
      return respondWithText([await reply.whole()], { headers, caller: caller.name, limiter, mustArrive: true })
    } finally {
      request.signal.removeEventListener('abort', leave)
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Rejects with an `HttpProblem` 400 if the request requires a tool that is unknown. `param` is the field that names the tool. */
export async function checkChoice({ clientTools, options }: RunOrder, host: AgentHost, param: string): Promise<void> {
  const { toolChoice } = options
  if (typeof toolChoice !== 'object') return
  const tools = await host.toolsFor(clientTools)
  if (tools.get(toolChoice.function.name) !== undefined) return
  throw new HttpProblem(400, 'invalid_request', `Unknown tool. Available: ${tools.names().join(', ')}`, { param })
}
