import { checkMistypedNames, checkOptionNames, type OptionNames, type OtherOptions } from '../core/option-names.ts'
import { checkOptions, checkValues } from '../core/options/check-options.ts'
import { resumeOptions, runOptions } from './options/run-options.ts'
import { runnerOptions } from './options/runner-options.ts'
import type { Restored } from './types/options.ts'

export const restoredNames: OptionNames<Restored> = {
  context: true,
  tools: true,
  model: true,
  hooks: true,
  plan: true,
  around: true,
  guardrails: true,
  approve: true,
  budget: true,
  output: true,
  stopWhen: true,
  compaction: true,
  toolCalling: true,
  telemetry: true,
}

const ofRunner: OtherOptions = { names: runnerOptions, of: 'the runner' }
const ofRun: OtherOptions = { names: runOptions, of: '`run`' }

/** Throws `invalid_option` for an option that a runner does not have, or an invalid value. `isSubclass`: allows unknown options. */
export function checkRunnerOptions(options: object, of: string, isSubclass = false): void {
  if (isSubclass) checkMistypedNames(options, runnerOptions, of)
  else checkOptionNames(options, runnerOptions, of, undefined, ofRun)
  checkValues(options, runnerOptions)
}

/** Throws `invalid_option` for an option that a run does not have, or an invalid value. */
export function checkRunOptions(options: object, at?: string): void {
  checkOptions(options, runOptions, 'a run', at, ofRunner)
}

/** Throws `invalid_option` for an option that a resumed run does not have, or an invalid value. */
export function checkResumeOptions(options: object): void {
  checkOptions(options, resumeOptions, '`resume`', undefined, ofRunner)
}
