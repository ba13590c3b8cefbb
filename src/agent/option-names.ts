import { checkMistypedNames, checkOptionNames, type OptionNames, type OtherOptions } from '../core/option-names.ts'
import { samplingNames } from '../models/chat-model.ts'
import type {
  CompactionOptions,
  LargeResultOptions,
  OutputOptions,
  Restored,
  ResumeOptions,
  RunLimits,
  RunnerOptions,
  RunOptions,
  RunSettings,
} from './types.ts'

const settings: OptionNames<RunSettings> = {
  ...samplingNames,
  maxIterations: true,
  maxToolRounds: true,
  toolTimeoutMs: true,
  toolConcurrency: true,
  maxResultBytes: true,
  largeResults: true,
  maxArgumentValues: true,
  streamIdleTimeoutMs: true,
  streamStallTimeoutMs: true,
  onLimit: true,
  onTruncated: true,
  onCut: true,
  toolCalling: true,
  enableToolActionParsing: true,
  fencedTags: true,
  toolChoice: true,
  parallelToolCalls: true,
  limits: true,
  budget: true,
  onBudget: true,
  compaction: true,
  stream: true,
  cacheKey: true,
  providerOptions: true,
  stopWhen: true,
  decisionTimeoutMs: true,
  remembered: true,
  hooks: true,
  plan: true,
  around: true,
  metadata: true,
  guardrails: true,
  activeTools: true,
  outputRetries: true,
  approve: true,
  throwOnError: true,
  name: true,
  telemetry: true,
}

export const runnerOptionNames: OptionNames<RunnerOptions> = {
  ...settings,
  model: true,
  models: true,
  fallbackOn: true,
  tools: true,
  instructions: true,
  bus: true,
  logger: true,
  journal: true,
  restore: true,
  sessions: true,
  history: true,
}

export const runOptionNames: OptionNames<RunOptions & OutputOptions> = {
  ...settings,
  output: true,
  signal: true,
  messages: true,
  session: true,
  context: true,
  model: true,
  tools: true,
  instructions: true,
  runId: true,
  onText: true,
  control: true,
  parent: true,
  recorder: true,
  forwardEvents: true,
}

const { messages: _, runId: __, session: ___, instructions: ____, ...resumable } = runOptionNames
const resumeOptionNames: OptionNames<ResumeOptions & OutputOptions> = {
  ...resumable,
  decisions: true,
  claim: true,
  again: true,
  replay: true,
}

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

/** Options that have options of their own. */
type NestedOptions = Pick<RunSettings, 'limits' | 'compaction' | 'largeResults'>

const limitNames: OptionNames<RunLimits> = {
  deadlineMs: true,
  tokens: true,
  costUsd: true,
  toolCalls: true,
  repeatedCalls: true,
  repeatWindow: true,
  depth: true,
}

const compactionNames: OptionNames<CompactionOptions> = { maxTokens: true, estimate: true, summarise: true }

const largeResultNames: OptionNames<LargeResultOptions> = { overBytes: true, shownBytes: true, keptBytes: true }

const ofRunner: OtherOptions = { names: runnerOptionNames, of: 'the runner' }

/** Throws `invalid_option` for an option that a runner does not have. `isSubclass`: there may be options of its own among them. */
export function checkRunnerOptionNames(options: NestedOptions, of: string, isSubclass = false): void {
  if (isSubclass) checkMistypedNames(options, runnerOptionNames, of)
  else checkOptionNames(options, runnerOptionNames, of, undefined, { names: runOptionNames, of: '`run`' })
  checkNested(options, of)
}

/** Throws `invalid_option` for an option that a run does not have. */
export function checkRunOptionNames(options: NestedOptions, at?: string): void {
  checkOptionNames(options, runOptionNames, 'a run', at, ofRunner)
  checkNested(options, 'a run', at)
}

/** Throws `invalid_option` for an option that a run that is resumed does not have. */
export function checkResumeOptionNames(options: NestedOptions): void {
  checkOptionNames(options, resumeOptionNames, '`resume`', undefined, ofRunner)
  checkNested(options, '`resume`')
}

function checkNested({ limits, compaction, largeResults }: NestedOptions, of: string, at?: string): void {
  const path = (name: string) => (at === undefined ? name : `${at}.${name}`)
  if (limits !== undefined) checkOptionNames(limits, limitNames, of, path('limits'))
  if (compaction !== undefined) checkOptionNames(compaction, compactionNames, of, path('compaction'))
  if (typeof largeResults === 'object') checkOptionNames(largeResults, largeResultNames, of, path('largeResults'))
}
