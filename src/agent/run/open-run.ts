import { InvalidOptionError, isSetupFault, ToolloopError } from '../../core/errors.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { AnyTool, ToolContext } from '../../tools/tool.ts'
import { activeTools, toToolSet } from '../options.ts'
import { openOutput } from '../output/output.ts'
import { usable } from '../turn/turn-request.ts'
import type { OutputOptions, RunOptions, RunSettings } from '../types.ts'
import { type EventTap, LiveRun, type LiveRunParts, type RunParent } from './run-context.ts'
import { RunControl } from './run-control.ts'

/** Who watches a run as it goes. */
export interface Watch {
  tap: EventTap
  /** Aborted when the watcher goes away. */
  left: AbortSignal
}

interface OpenRun extends Omit<LiveRunParts, 'registry' | 'runId' | 'output' | 'parent' | 'tap'>, Partial<Watch> {
  tools: readonly AnyTool[] | ToolSet
}

/** A run that is about to begin, with its tools, its output and its place in another run. Throws `invalid_option` or `too_deep`. */
export function openRun({ tools: given, left, ...parts }: OpenRun): LiveRun {
  const { settings, model } = parts
  const tools = activeTools(toToolSet(given), settings, parts.logger)
  // Only callers who say so in the types have one.
  const schema = (settings as Partial<OutputOptions>).output
  const output = schema === undefined ? {} : { output: openOutput(schema, tools) }
  const parent = settings.parent === undefined ? undefined : parentOf(settings.parent, settings.forwardEvents === true)
  const { control, onText } = settings
  if (control !== undefined && !(control instanceof RunControl)) throw new InvalidOptionError('control', 'a RunControl', control)
  if (onText !== undefined && typeof onText !== 'function') throw new InvalidOptionError('onText', 'a function', onText)
  const runId = settings.runId === undefined ? {} : { runId: settings.runId }
  const run = new LiveRun({ ...parts, ...runId, ...output, registry: tools, ...(parent === undefined ? {} : { parent }) })
  try {
    if (parent !== undefined) usable(run, model)
  } catch (error) {
    run.dispose()
    throw error
  }
  if (left !== undefined) run.follow(left)
  if (settings.parent !== undefined) run.follow(settings.parent.signal)
  return run
}

/**
 * Makes the run's model ready. Rejects for one that can't be asked as it is set up: nothing has happened then. Where hooks may choose
 * another for each request, the model they choose is asked without that.
 */
export async function prepareModel(run: LiveRun): Promise<void> {
  const { hooks, control } = run.settings
  if (run.interruption !== undefined || hooks?.some(({ beforeModel }) => beforeModel !== undefined)) return
  const model = control?.model ?? run.model
  if (model.prepare === undefined) return
  try {
    await run.untilInterrupted(model.prepare())
  } catch (error) {
    // Anything else is told by the request, which may be made again.
    if (isSetupFault(error)) throw error
  }
}

/** What a nested run has from the call it is made in, where neither its caller nor its runner says otherwise. */
export function withParent<Context>(options: RunOptions<Context>, runner: RunSettings<Context>): RunOptions<Context> {
  const { parent, context = parent?.context } = options
  if (parent === undefined) return options
  const { run } = parent
  const approve = options.approve ?? runner.approve ?? (run instanceof LiveRun ? (run.settings.approve as never) : undefined)
  return { ...options, ...(context === undefined ? {} : { context }), ...(approve === undefined ? {} : { approve }) }
}

function parentOf({ run, toolCallId }: ToolContext<never>, forwards: boolean): RunParent {
  if (!(run instanceof LiveRun)) throw new InvalidOptionError('parent', 'the context a tool is given in a run', run)
  const { depthLimit } = run
  if (run.depth >= depthLimit) {
    throw new ToolloopError('too_deep', `Expected runs to be nested at most ${depthLimit} deep (\`limits.depth\`)`)
  }
  return { run, toolCallId, forwards }
}
