import type { AgentHost } from '../agents/agent-host.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { Call } from '../http/route.ts'
import type { SseStreams } from '../http/sse.ts'
import { respondWithText } from '../http/text-response.ts'
import type { RunWatcher } from '../runs/follow-run.ts'
import type { RunOrder } from '../runs/run-order.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ReplyFrames } from './reply-frames.ts'

/** What a client is told of the run that answers it. */
export interface ClientReply extends RunWatcher {
  /** Of a reply that is streamed. */
  readonly frames: ReplyFrames | undefined
  /** The whole reply as JSON, when the run has ended. Rejects with an `HttpProblem` for a run without an answer. */
  whole(): Promise<string>
}

interface ReplyParts {
  runs: RunStore
  streams: SseStreams
  limiter: RateLimiter
}

/** Starts a run and answers with its reply. Nobody else waits for it: it is aborted when the client leaves. Rejects with an `HttpProblem`. */
export async function answerClient(
  order: RunOrder,
  reply: ClientReply,
  { request, caller }: Call,
  { runs, streams, limiter }: ReplyParts,
): Promise<Response> {
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

/** Rejects with an `HttpProblem` 400 if the tool that has to be called is unknown. `param`: where it is named. */
export async function checkChoice({ clientTools, options }: RunOrder, host: AgentHost, param: string): Promise<void> {
  const { toolChoice } = options
  if (typeof toolChoice !== 'object') return
  const tools = await host.toolsFor(clientTools)
  if (tools.get(toolChoice.function.name) !== undefined) return
  throw new HttpProblem(400, 'invalid_request', `Unknown tool. Available: ${tools.names().join(', ')}`, { param })
}
