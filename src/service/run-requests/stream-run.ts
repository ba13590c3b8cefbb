import type { SseSource } from '../../ui/web/sse-stream.ts'
import type { Answer } from '../http/reply.ts'
import type { SseStreams } from '../http/sse.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ServiceRun } from '../runs/service-run.ts'

interface Streamed {
  headers?: Readonly<Record<string, string>>
  /** Called once, when the response has ended. Not called if `streamRun` rejects. */
  release(): void
}

interface StreamParts {
  runs: RunStore
  streams: SseStreams
}

/**
 * Returns an event stream that follows the run until the reader leaves. `open` creates the content of the stream. Rejects with an
 * `HttpProblem` if the events of the run can't be read.
 */
export async function streamRun(
  run: ServiceRun,
  open: () => SseSource,
  { headers, release }: Streamed,
  { runs, streams }: StreamParts,
): Promise<Answer> {
  const leave = await runs.watch(run)
  const onClose = () => {
    leave()
    release()
  }
  try {
    return streams.respond(open(), { headers: { ...headers, 'x-run-id': run.id }, onClose })
  } catch (error) {
    leave()
    throw error
  }
}
