import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import type { ChatModel } from '../models/chat-model.ts'
import type { AnyTool } from '../tools/tool.ts'
import { openRecording } from './file/recording-file.ts'
import { callsOf, type RecordedRun, type RunRecording, requestsOf } from './format.ts'
import { RecordedModel } from './recorded-model.ts'
import { RecordedCalls } from './recorded-tools.ts'
import type { RecordingSecrets } from './secrets.ts'

/** Selects the part of a recording to replay. */
export interface ReplayPartOptions {
  /**
   * The name of a tool. Only the runs inside calls of this tool are replayed. Default: `replayTools` replays the outermost run, and
   * `replayModel` also replays all runs inside it.
   */
  inside?: string
  /** The texts that are known to be secret. They are redacted before anything is compared. */
  secrets?: Iterable<string>
}

const optionNames: OptionNames<ReplayPartOptions> = { inside: true, secrets: true }

/**
 * Creates a model that repeats the responses of a recorded run, including chunks, failures and usage. Equal requests get their recorded
 * responses in order. The order of different requests doesn't matter. A request that is not in the recording rejects with `replay_differs`,
 * and the message says where the request first differs. The run then ends with `model_error`. Throws `invalid_option` if the file is not a
 * recording.
 *
 * ```ts
 * const runner = new AgentRunner({ model: replayModel('bug-17.json'), tools: replayTools('bug-17.json'), instructions })
 * ```
 */
export function replayModel(file: string | URL | RunRecording, options: ReplayPartOptions = {}): ChatModel {
  const { runs, first, secrets } = openPart(file, options, '`replayModel`')
  return new RecordedModel(runs.flatMap(options.inside === undefined ? allRequests : requestsOf), first.given.model, { secrets })
}

/**
 * Creates the tools of a recorded run. A call returns or fails like the recorded call with the same tool and arguments. Each recorded call
 * is used only once. The order of the calls doesn't matter. A call that is not in the recording fails, and the message names its first
 * difference from a recorded call. No tool is executed. Throws `invalid_option` if the file is not a recording.
 */
export function replayTools(file: string | URL | RunRecording, options: ReplayPartOptions = {}): AnyTool[] {
  const { runs, first, secrets } = openPart(file, options, '`replayTools`')
  const calls = new RecordedCalls(runs, { secrets })
  return first.given.tools.map((tool) => calls.toolOf(tool))
}

interface Part {
  runs: RecordedRun[]
  first: RecordedRun
  secrets: RecordingSecrets
}

function openPart(file: string | URL | RunRecording, options: ReplayPartOptions, caller: string): Part {
  checkOptionNames(options, optionNames, caller)
  const { inside } = options
  const { recording, secrets } = openRecording(file, options.secrets)
  const runs = inside === undefined ? [recording] : runsInside(recording, inside)
  const [first] = runs
  if (first === undefined) throw new InvalidOptionError('inside', 'a tool whose calls have runs inside them', inside)
  return { runs, first, secrets }
}

function runsInside(run: RecordedRun, tool: string): RecordedRun[] {
  return callsOf(run).flatMap((call) => [
    ...(call.tool === tool ? (call.runs ?? []) : []),
    ...(call.runs ?? []).flatMap((one) => runsInside(one, tool)),
  ])
}

function allRequests(run: RecordedRun): ReturnType<typeof requestsOf> {
  return [...requestsOf(run), ...callsOf(run).flatMap(({ runs = [] }) => runs.flatMap(allRequests))]
}
