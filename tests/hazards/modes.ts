import type { RunnerOptions } from '../../src/agent/types/options.ts'
import type { ChatMessage } from '../../src/core/messages.ts'
import type { ChatModel, ToolChoice } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockScriptRequest } from '../../src/testing/mock/answers.ts'
import type { MockFaults } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { WireName } from '../../src/testing/mock/wires/wire.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import type { Script } from '../../src/testing/script.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { inText } from './text-modes.ts'

export type ModeScript = Script<MockScriptRequest, MockReply>

/** One way to talk to a model: its driver, streaming or not. */
export interface Mode {
  readonly name: string
  readonly wire: WireName
  readonly streaming: boolean
  /** The dialect of calls. Absent if they are native. */
  readonly dialect?: string
  open(script: ModeScript, options?: OpenOptions): Promise<OpenMode>
}

export interface OpenOptions {
  faults?: MockFaults
  settings?: Partial<ModelSettings>
}

/** A script opened in a mode: a model that answers from it, over a real connection. */
export interface OpenMode extends AsyncDisposable {
  readonly model: ChatModel
  /** What a runner or run needs besides the model. */
  readonly options: Pick<RunnerOptions, 'stream' | 'toolConcurrency'>
  readonly provider: MockProvider
  /** The requests to the model, in a form that all modes share. */
  requests(): SentRequest[]
  close(): Promise<void>
}

export interface SentRequest {
  messages: ChatMessage[]
  tools?: ToolDefinition[]
  toolChoice?: ToolChoice
}

interface Driver {
  name: string
  wire: WireName
  settings(provider: MockProvider): ModelSettings
}

/** A new driver joins the matrix with one line. */
const drivers: readonly Driver[] = [
  { name: 'openai', wire: 'chat-completions', settings: ({ baseURL }) => ({ provider: 'custom', model: 'mock', baseURL, apiKey: 'test' }) },
  {
    name: 'responses',
    wire: 'responses',
    settings: ({ baseURL }) => ({ provider: 'openai-responses', model: 'mock', baseURL, apiKey: 'test' }),
  },
  {
    name: 'anthropic',
    wire: 'anthropic-messages',
    settings: ({ url }) => ({ provider: 'anthropic', model: 'claude-mock', baseURL: url, apiKey: 'sk-ant-test' }),
  },
  {
    name: 'google',
    wire: 'gemini-generate-content',
    settings: ({ url }) => ({ provider: 'google', model: 'gemini-mock', baseURL: url, apiKey: 'key-for-tests' }),
  },
]

export const nativeModes: readonly Mode[] = drivers.flatMap((driver) => [modeOf(driver, true), modeOf(driver, false)])
/** Text calls once, over the wire that local servers use. */
export const modes: readonly Mode[] = [...nativeModes, ...inText(nativeModes.filter(({ wire }) => wire === 'chat-completions'))]
export const streamingModes: readonly Mode[] = modes.filter(({ streaming }) => streaming)

/** `.ci/nightly` tests every hazard in every mode. Tests of a change use a few modes for what drivers share. */
const isNightly = process.env.TOOLLOOP_TEST_MODES === 'all'

const loopModeNames = ['openai, streaming', 'openai, whole', 'openai, streaming, tags', ...(isNightly ? ['anthropic, streaming'] : [])]
/** For what only the loop decides: streaming and not, native and text calls; at night a second driver to check that it changes nothing. */
export const loopModes: readonly Mode[] = modes.filter(({ name }) => loopModeNames.includes(name))
/** The same, for what a driver could break: in all modes at night. */
export const quickModes: readonly Mode[] = isNightly ? modes : loopModes
/** For what depends on the driver but not on streaming: each driver streaming, one that doesn't stream, and text calls. */
export const driverModes: readonly Mode[] = isNightly ? modes : modes.filter((mode) => loopModes.includes(mode) || isNativeStream(mode))

function isNativeStream({ streaming, dialect }: Mode): boolean {
  return streaming && dialect === undefined
}

const rowModeNames = ['openai, streaming', 'openai, whole']

/** The rows of a table about what drivers share: all of them over one API, streaming and not; in other modes the first, and those that `always` picks. */
export function rowsFor<Row>(mode: Mode, rows: readonly Row[], always: (row: Row) => boolean = () => false): Row[] {
  return rows.filter((row, index) => index === 0 || isNightly || rowModeNames.includes(mode.name) || always(row))
}

function modeOf({ name, wire, settings }: Driver, streaming: boolean): Mode {
  return {
    name: `${name}, ${streaming ? 'streaming' : 'whole'}`,
    wire,
    streaming,
    async open(script, { faults, settings: more } = {}) {
      const provider = await startStrictProvider({ script, ...(faults === undefined ? {} : { faults }) })
      return {
        // Shortens the delays between retries, which depend on the server, not on the clock.
        model: createModel({ maxRetries: 0, maxRetryDelayMs: 1, ...settings(provider), ...more }),
        options: streaming ? {} : { stream: false },
        provider,
        requests: () =>
          provider.requests.map(({ body }) => {
            const { model: _, ...request } = findWire(wire).readRequest(body)
            return request
          }),
        close: () => provider.close(),
        [Symbol.asyncDispose]: () => provider.close(),
      }
    },
  }
}
