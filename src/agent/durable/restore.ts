import pTimeout from 'p-timeout'
import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { checkOptionNames } from '../../core/option-names.ts'
import { restoredNames } from '../option-names.ts'
import type { OutputOptions, Restored, RestoredName, RunnerOptions, RunOptions, RunToRestore } from '../types/options.ts'

const names = Object.keys(restoredNames) as RestoredName[]

type Given = RunOptions<never> & Partial<OutputOptions>

/** The names of the options that are not stored with a run. */
export function notStored(options: Given): RestoredName[] {
  return names.filter((name) => isGiven(options[name]) && !isStored(name, options))
}

/** The options that the run was started with (`needs`) and that are missing here. */
export function lackingIn(options: Given, needs: readonly RestoredName[] = []): RestoredName[] {
  return needs.filter((name) => !isGiven(options[name]))
}

function isStored(name: RestoredName, { compaction, toolCalling }: Given): boolean {
  if (name === 'compaction') return compaction?.estimate === undefined && compaction?.summarise === undefined
  return name === 'toolCalling' && typeof toolCalling === 'string'
}

/** A database often returns null for a missing value. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

interface Lacking {
  restore: RunnerOptions<never>['restore']
  run: RunToRestore
  lacks: readonly RestoredName[]
  timeoutMs: number
}

/** Asks `restore`, and returns only the missing options. Rejects with `not_restored`. */
export async function askRestore({ restore, run, lacks, timeoutMs }: Lacking): Promise<Partial<Restored<never>>> {
  const failed = (why: string, cause?: unknown) => {
    const started = lacks.map((name) => `\`${name}\``).join(', ')
    const message = `Run \`${run.runId}\` was started with ${started}: ${why}. Nothing of it is executed here`
    return new ToolloopError('not_restored', message, cause === undefined ? undefined : { cause })
  }
  if (restore === undefined) throw failed('the runner has no `restore` that supplies it')
  let restored: Partial<Restored<never>>
  try {
    const late = new DOMException(`it took longer than ${timeoutMs} ms`, 'TimeoutError')
    restored = await pTimeout((async () => restore(run))(), { milliseconds: timeoutMs, message: late })
    checkOptionNames(restored, restoredNames, '`restore`', 'restore')
  } catch (error) {
    throw failed(`\`restore\` failed: ${messageOf(error)}`, error)
  }
  const missing = lackingIn(restored as Given, lacks)
  if (missing.length > 0) throw failed(`\`restore\` gave ${missing.map((name) => `${show(restored[name])} as \`${name}\``).join(', ')}`)
  return Object.fromEntries(lacks.map((name) => [name, restored[name]]))
}
