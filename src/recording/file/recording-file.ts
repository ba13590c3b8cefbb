import { readFileSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { InvalidOptionError, messageOf, show } from '../../core/errors.ts'
import { checkReplaceable, replaceFile } from '../../core/files/replace-file.ts'
import { isDeeperThan } from '../../core/json.ts'
import { type ChatMessage, isJsonObject, withoutUndefined } from '../../core/messages.ts'
import { atOnce } from '../../core/time/give-way.ts'
import { convertToOpenAITool, type ToolDefinition } from '../../tools/tool.ts'
import {
  formatName,
  formatVersion,
  isCall,
  type RecordedInput,
  type RecordedModelRequest,
  type RecordedRequest,
  type RecordedRun,
  type RecordedStep,
  type RunRecording,
  withSteps,
} from '../format.ts'
import { RecordingSecrets, secretsOf } from '../secrets.ts'
import { checkRun, type Wrong } from './check-recording.ts'
import { layOut } from './layout.ts'

/** Writes the file atomically. Only the owner of the file can read it. */
export async function writeRecording(file: string | URL, recording: RunRecording): Promise<void> {
  await replaceFile(pathOf(file), recordingToText(recording))
}

/**
 * Reads the recording that is about to be replaced. Returns undefined if there is no file. Rejects if the existing file is not a recording,
 * or if the file can't be written.
 */
export async function recordingAt(file: string | URL): Promise<RunRecording | undefined> {
  const path = pathOf(file)
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  const recording = isThere ? readRecording(path) : undefined
  await checkReplaceable(path)
  return recording
}

/** Reads the file of a recorded run. Throws `invalid_option` if the file is not a recording, is incomplete, or is of a newer version. */
export function readRecording(file: string | URL): RunRecording {
  const path = pathOf(file)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new InvalidOptionError(path, `a file with a recorded run (${messageOf(error)})`)
  }
  return recordingFromText(text, path)
}

/** Returns the path of a file. Throws `invalid_option` for anything but a path or a `file:` URL. */
export function pathOf(file: string | URL): string {
  if (file instanceof URL && file.protocol === 'file:') return fileURLToPath(file)
  if (typeof file === 'string' && file !== '') return file
  throw new InvalidOptionError('file', 'a path or a file: URL', file instanceof URL ? file.href : file)
}

/**
 * Formats a recording as the text of its file. Each request contains only the messages that the previous request did not have, and tools
 * are referred to by name.
 */
export function recordingToText(recording: RunRecording): string {
  return `${layOut(shorten(recording))}\n`
}

/** Parses a recording. `where` names the text in error messages. */
export function recordingFromText(text: string, where = 'recording'): RunRecording {
  let json: unknown
  try {
    // The pattern removes a byte order mark, which some editors write.
    json = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new InvalidOptionError(where, `a recorded run, which is JSON (${messageOf(error)})`)
  }
  checkRecording(json, where)
  return lengthen<RunRecording>(json as never)
}

/** A recording, and the secrets that were found in it. */
export interface OpenRecording {
  recording: RunRecording
  secrets: RecordingSecrets
}

/**
 * Opens a recording or a recording file for a replay. `known` contains secret texts to redact. Throws the same errors as `readRecording`.
 */
export function openRecording(recorded: RunRecording | string | URL, known?: Iterable<string>): OpenRecording {
  const isFile = typeof recorded === 'string' || recorded instanceof URL
  if (!isFile) checkRecording(recorded, 'recording')
  const recording = isFile ? readRecording(recorded) : recorded
  const texts = secretsOf(known)
  const secrets = new RecordingSecrets(texts)
  atOnce(secrets.learn(recording))
  return { recording: texts.length === 0 ? recording : atOnce(secrets.cleanRun(recording)), secrets }
}

/** Maximum nesting depth of a recording. No real run is nested deeper. */
const mostLevels = 1_000

function checkRecording(json: unknown, where: string): void {
  if (!isJsonObject(json) || json.format !== formatName)
    throw new InvalidOptionError(where, `a recorded run, with \`"format": "${formatName}"\``, isJsonObject(json) ? json.format : json)
  const { version, toolloop } = json
  if (version !== formatVersion) {
    const by = typeof toolloop === 'string' ? `, written by toolloop ${toolloop}` : ''
    throw new InvalidOptionError(
      where,
      `a recorded run of version ${formatVersion}, which this toolloop reads; it is of version ${show(version)}${by}`,
    )
  }
  const wrong: Wrong = (place, expected, got) => {
    throw new InvalidOptionError(`${where}: ${place}`, expected, got)
  }
  if (isDeeperThan(mostLevels, json))
    throw new InvalidOptionError(where, `a recorded run that is nested no deeper than ${mostLevels} levels`)
  if (typeof json.runId !== 'string') wrong('runId', 'a string', json.runId)
  checkRun(json, '', wrong)
}

function shorten(run: RecordedRun): RecordedRun {
  let before = firstMessages(run.given)
  return withSteps(run, (step) => {
    const short = shortStep(run.given, before, step)
    before = lastMessages(step) ?? before
    return short
  })
}

/** Shortens a step for the file. `before` contains the messages of the last request before the step. */
export function shortStep(given: RecordedInput, before: readonly ChatMessage[], step: RecordedStep): RecordedStep {
  if (Array.isArray(step)) return step.map((turn, at) => shortRequest(given, step[at - 1]?.request.messages ?? before, turn))
  return isCall(step) && step.runs !== undefined ? { ...step, runs: step.runs.map(shorten) } : step
}

/** Returns the messages of the last request of a turn. Returns undefined if the step is not a turn. */
export function lastMessages(step: RecordedStep | undefined): readonly ChatMessage[] | undefined {
  return Array.isArray(step) ? step.at(-1)?.request.messages : undefined
}

function shortRequest(given: RecordedInput, before: readonly ChatMessage[], { request, ...turn }: RecordedRequest): RecordedRequest {
  const { messages, tools } = request
  const kept = samePrefix(before, messages)
  const named = tools?.map((tool) => (isKnown(given, tool) ? tool.function.name : tool)) as RecordedModelRequest['tools']
  const short = { ...(kept === 0 ? {} : { kept }), ...request, messages: messages.slice(kept) }
  return { request: { ...short, ...withoutUndefined({ tools: named }) }, ...turn }
}

/** Undoes `shorten`: restores all messages and tools of the requests. */
export function lengthen<Run extends RecordedRun>(run: Run): Run {
  let before = firstMessages(run.given)
  const longRequest = ({ request, ...turn }: RecordedRequest): RecordedRequest => {
    const { kept = 0, ...short }: RecordedModelRequest & { kept?: number } = request
    before = [...before.slice(0, kept), ...short.messages]
    const tools = short.tools?.map((tool) => (typeof tool === 'string' ? definitionOf(run.given, tool) : tool))
    return { request: { ...short, messages: before, ...withoutUndefined({ tools }) }, ...turn }
  }
  return withSteps(run, (step) => {
    if (Array.isArray(step)) return step.map(longRequest)
    return isCall(step) && step.runs !== undefined ? { ...step, runs: step.runs.map(lengthen) } : step
  })
}

/** Returns the messages with which the first request is expected to start. */
export function firstMessages({ instructions, messages }: RecordedInput): readonly ChatMessage[] {
  return instructions === undefined ? messages : [{ role: 'system', content: instructions }, ...messages]
}

function samePrefix(before: readonly ChatMessage[], messages: readonly ChatMessage[]): number {
  const differs = messages.findIndex((message, at) => message !== before[at] && !isDeepStrictEqual(message, before[at]))
  return differs < 0 ? messages.length : differs
}

/** Caches tool definitions that equal a tool in `given.tools`, because the same definitions occur in every request. */
const knownDefinitions = new WeakMap<RecordedInput['tools'], WeakSet<ToolDefinition>>()

function isKnown({ tools }: RecordedInput, definition: ToolDefinition): boolean {
  const known = knownDefinitions.get(tools) ?? new WeakSet()
  if (known.has(definition)) return true
  const tool = tools.find(({ name }) => name === definition.function.name)
  if (tool === undefined || !isDeepStrictEqual({ ...convertToOpenAITool(tool) }, definition)) return false
  knownDefinitions.set(tools, known.add(definition))
  return true
}

function definitionOf({ tools }: RecordedInput, name: string): ToolDefinition {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) throw new InvalidOptionError('tools', `names of tools in \`given.tools\`, or definitions`, name)
  return convertToOpenAITool(tool)
}
