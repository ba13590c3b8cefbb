import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Content, Usage } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'
import type { CallPlan, RequestPlan } from '../types/middleware.ts'
import type { AgentRules } from '../types/options.ts'
import type { Hooks, ModelEnding, ModelTurn, RunningToolCall, SentRequest, ToolEnding, ToolTurn } from './hooks.ts'

/** One function from the options `hooks`, `plan` or `around`. */
export interface Callback<Ask> {
  readonly name: string | undefined
  /** How error messages name the function, for example `['beforeTool', 'hook']`. */
  readonly kind: readonly [word: string, noun: string]
  /** What a failure of the function leads to, in words for the log. Undefined if `onFailure` is `'skip'`. */
  readonly refused: string | undefined
  readonly ask: Ask
}

type Plan<Subject, Decision> = Callback<(subject: Subject) => Awaitable<Decision | undefined>>
type Around<Subject, Value> = Callback<(subject: Subject, next: () => Promise<Value>) => Awaitable<Value | undefined>>

/** The callbacks of a run, each list in the order in which its functions are called. */
export interface Callbacks {
  readonly plan: {
    readonly requests: readonly Plan<ModelTurn<never>, RequestPlan>[]
    readonly replies: readonly Plan<ModelEnding<never>, { text: string }>[]
    readonly calls: readonly Plan<ToolTurn<never>, CallPlan>[]
  }
  readonly around: {
    readonly requests: readonly Around<SentRequest<never>, ModelResponse>[]
    readonly calls: readonly Around<RunningToolCall<never>, unknown>[]
    /** Callbacks that decide which content the model gets as the result of a call. */
    readonly results: readonly Plan<ToolEnding<never>, { content: Content }>[]
  }
}

/** Combines the options `hooks`, `plan` and `around`. In each list, the hooks come first. */
export function callbacksOf(rules: Pick<AgentRules<never>, 'hooks' | 'plan' | 'around'>): Callbacks {
  const { hooks = [], plan = [], around = [] } = rules
  const ofHooks = <Ask>(word: keyof Hooks, refused: string, functionOf: (hook: Hooks<never>) => Ask | undefined) =>
    listOf(
      word.startsWith('after') ? hooks.toReversed() : hooks,
      [word, 'hook'],
      word === 'beforeTool' ? 'refuse' : 'skip',
      refused,
      functionOf,
    )
  return {
    plan: {
      requests: [
        ...ofHooks('beforeModel', 'the run ends', (hook) => hook.beforeModel?.bind(hook)),
        ...listOf(plan, ['plan', 'entry'], 'refuse', 'the run ends', (entry) => entry.request?.bind(entry)),
      ],
      replies: ofHooks('afterModel', 'the run ends', (hook) => hook.afterModel?.bind(hook)),
      calls: [
        ...ofHooks('beforeTool', 'the call is refused', (hook) => hook.beforeTool?.bind(hook)),
        ...listOf(plan, ['plan', 'entry'], 'refuse', 'the call is refused', (entry) => entry.call?.bind(entry)),
      ],
    },
    around: {
      requests: [
        ...ofHooks('aroundModel', 'the run ends', (hook) => hook.aroundModel?.bind(hook)),
        ...listOf(around, ['around', 'entry'], 'skip', 'the run ends', (entry) => entry.request?.bind(entry)),
      ],
      calls: [
        ...ofHooks('aroundTool', 'its call fails', (hook) => hook.aroundTool?.bind(hook)),
        ...listOf(around, ['around', 'entry'], 'skip', 'its call fails', (entry) => entry.call?.bind(entry)),
      ],
      results: ofHooks('afterTool', 'the result is withheld', (hook) => hook.afterTool?.bind(hook)),
    },
  }
}

function listOf<Entry extends { name?: string; onFailure?: 'refuse' | 'skip' }, Ask>(
  entries: readonly Entry[],
  kind: Callback<Ask>['kind'],
  byDefault: 'refuse' | 'skip',
  refused: string,
  functionOf: (entry: Entry) => Ask | undefined,
): Callback<Ask>[] {
  const callbacks: Callback<Ask>[] = []
  for (const entry of entries) {
    const ask = functionOf(entry)
    const refuses = (entry.onFailure ?? byDefault) === 'refuse'
    if (ask !== undefined) callbacks.push({ name: entry.name, kind, refused: refuses ? refused : undefined, ask })
  }
  return callbacks
}

/** The error of a function that failed and whose `onFailure` is `'refuse'`. */
export class HookFailure extends ToolloopError {
  /** The hook's name, or its kind if it has none. */
  readonly hook: string
  /** The usage of the request that the hook wraps. */
  readonly usage: Usage | undefined

  constructor({ name, kind: [word, noun] }: Callback<unknown>, cause: unknown, usage?: Usage) {
    const hook = `\`${word}\` ${noun}${name === undefined ? '' : ` \`${name}\``}`
    super('hook_failed', `The run was stopped: the ${hook} failed, and its \`onFailure\` is \`refuse\``, { cause })
    this.hook = name ?? `a ${word} ${noun}`
    this.usage = usage
  }
}

/** Returns the error of a run that a guardrail or another callback stops. `reason` begins with the name of the guardrail or callback. */
export function stoppedBy(reason: string): ToolloopError {
  return new ToolloopError('guardrail', `The run was stopped by ${reason}`)
}
