import { resolve } from 'node:path'
import { InvalidOptionError } from '../../core/errors.ts'
import { withoutUndefined } from '../../core/messages.ts'
import { secretsInEnvironment } from '../../core/redaction/secret-keys.ts'
import { recordingAt, writeRecording } from '../../recording/file/recording-file.ts'
import { describeDifference, type Replay, type RunRecording, readRecording, replayRun } from '../../recording/index.ts'
import { EXIT_DIFFERS, EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { chooseModel } from '../setup/choose-model.ts'
import { openChoice, readInstructions } from '../setup/prepare-agent.ts'
import { openToolSources } from '../setup/tool-sources.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { plural } from '../terminal/render.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** `toolloop replay`: replays a recorded run. Resolves with the exit code. Rejects if the file is not a recording. */
export async function replay(file: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const interrupts = new Interrupts(io)
  try {
    checkLive(flags)
    const recording = readRecording(resolve(io.cwd, file))
    // The output file is checked before the replay starts.
    if (flags.record !== undefined) await recordingAt(resolve(io.cwd, flags.record))
    const played = await play(recording, flags, terminal, interrupts.signal)
    if (flags.record !== undefined) await writeRecording(resolve(io.cwd, flags.record), played.recording)
    if (interrupts.exitCode !== undefined) return interrupts.exitCode
    if (flags.json) terminal.print(JSON.stringify(asJson(played)))
    else explain(played, recording.given.code ?? [], flags, terminal)
    return played.difference === undefined ? EXIT_OK : EXIT_DIFFERS
  } finally {
    interrupts.release()
  }
}

/** Throws for options that have no effect: model options with recorded responses, or tool options with recorded results. */
function checkLive({ liveModel, liveTools, model, baseUrl, tools, skills }: Flags): void {
  const refuse = (given: { [flag: string]: unknown }, expected: string): void => {
    for (const [flag, value] of Object.entries(given)) if (value !== undefined) throw new InvalidOptionError(flag, expected)
  }
  if (!liveModel) refuse({ '--model': model, '--base-url': baseUrl }, 'beside `--live-model`: the recorded model answers')
  if (!liveTools) refuse({ '--tools': tools, '--skills': skills }, 'beside `--live-tools`: the recorded tools answer')
}

async function play(recording: RunRecording, flags: Flags, terminal: Terminal, signal: AbortSignal): Promise<Replay> {
  const { cwd, env } = terminal.io
  const { liveModel, liveTools, model: name, baseUrl } = flags
  const logger = createCliLogger(terminal, flags)
  const instructions = await readInstructions(flags.instructions, cwd)
  const model = liveModel ? openChoice(await chooseModel({ model: name, baseURL: baseUrl, env, cwd, signal })) : undefined
  const live = liveTools ? await openToolSources(flags, terminal, logger) : undefined
  try {
    return await replayRun(recording, {
      logger,
      signal,
      secrets: secretsInEnvironment(env),
      instructions,
      ...withoutUndefined({ tools: live?.dispatcher }),
      model,
    })
  } finally {
    await live?.skills?.close()
  }
}

function asJson({ difference, result, recording }: Replay): object {
  const { stopReason, text } = result
  return {
    equal: difference === undefined,
    difference,
    turns: turnsIn(recording),
    stopReason,
    text,
  }
}

function turnsIn({ steps }: RunRecording): number {
  return Object.values(steps).filter(Array.isArray).length
}

function explain({ difference, recording }: Replay, code: readonly string[], flags: Flags, terminal: Terminal): void {
  if (difference === undefined) {
    if (!flags.quiet)
      terminal.say(`the run is the same: ${plural(turnsIn(recording), 'turn')}, ${recording.result?.stopReason ?? 'no end'}`)
    return
  }
  terminal.say(`the run differs at ${describeDifference(difference)}`)
  if (code.length > 0 && !flags.quiet)
    terminal.note(
      `The recorded run had code that is not in the file (${code.join(', ')}): replayModel and replayTools play it in a test that has it.`,
    )
}
