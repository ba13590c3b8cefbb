import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import type { RunStream } from '../../../src/agent/runner/run-stream.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { toUIMessageResponse } from '../../../src/ui/message-stream/ui-message-response.ts'
import { pipeToNode } from '../../../src/ui/web/pipe-to-node.ts'
import type { ResponseOptions } from '../../../src/ui/web/respond.ts'
import { look, type Probe, quiet, settled, turns } from './probe.ts'

process.removeAllListeners('warning')
process.on('warning', () => {})

const started = (script: Parameters<typeof scriptedModel>[0] = turns()): RunStream =>
  new AgentRunner({ model: scriptedModel(script), tools: [look], logger: quiet }).stream('go')

/** A response. It ends, no matter what the callback does. */
const sent = async (options: ResponseOptions, script?: Parameters<typeof scriptedModel>[0]): Promise<string> =>
  started(script).toResponse(options).text()

const writer = (members: object): Promise<string> =>
  sent({ format: { open: () => ({ event: () => 'x', gap: () => '', end: () => '', broken: () => '', ...members }) } })

/** A response of a server, with one of its methods replaced. */
function nodeResponse(members: object): Parameters<typeof pipeToNode>[1] {
  const listeners = { close: new Set<() => void>(), drain: new Set<() => void>() }
  return {
    destroyed: false,
    writeHead() {},
    write: () => true,
    end() {},
    destroy() {},
    once: (event: 'close' | 'drain', listener: () => void) => void listeners[event].add(listener),
    off: (event: 'close' | 'drain', listener: () => void) => void listeners[event].delete(listener),
    ...members,
  } as never
}
/** Rejects with what the server's own response throws: that is the caller's error. */
const piped = (members: object): Promise<unknown> => settled(pipeToNode(started(), nodeResponse(members)))

/** A run that has ended, with more events than are kept. Made once for all attempts. */
let tooLong: ReturnType<typeof started> | undefined

/** Callbacks of responses. */
export const responseProbes: Record<string, Probe> = {
  'ResponseOptions.select': (bad) => sent({ select: bad }),
  'ResponseOptions.errorText': (bad) => sent({ errorText: bad }, []),
  'ResponseFormat.open': (bad) => settled((async () => sent({ format: { open: bad } }))()),
  'ResponseWriter.event': (bad) => writer({ event: bad }),
  'ResponseWriter.end': (bad) => writer({ end: bad }),
  'ResponseWriter.broken': (bad) =>
    writer({
      event: () => {
        throw new Error('no')
      },
      broken: bad,
    }),
  'ResponseWriter.gap': async (bad) => {
    tooLong ??= started([{ text: 'x'.repeat(4_500_000) }])
    await tooLong.result
    const open = () => ({ event: () => 'x', gap: bad, end: () => '', broken: () => '' })
    return tooLong.toResponse({ format: { open }, lastEventId: 1 }).text()
  },
  'UIMessageOptions.messageMetadata': async (bad) => toUIMessageResponse(started(), { messageMetadata: bad }).text(),
  'SendableRun.toResponse': (bad) => settled((async () => toUIMessageResponse({ toResponse: bad }).text())()),
  'pipeToNode(from).toResponse': (bad) => settled(pipeToNode({ toResponse: bad }, nodeResponse({}))),
  'NodeResponse.writeHead': (bad) => piped({ writeHead: bad }),
  'NodeResponse.flushHeaders': (bad) => piped({ flushHeaders: bad }),
  'NodeResponse.write': (bad) => piped({ write: bad }),
  'NodeResponse.end': (bad) => piped({ end: bad }),
  'NodeResponse.destroy': (bad) =>
    piped({
      destroy: bad,
      write: () => {
        throw new Error('no')
      },
    }),
  'NodeResponse.once': (bad) => piped({ once: bad }),
  'NodeResponse.off': (bad) => piped({ off: bad }),
}
