import pTimeout from 'p-timeout'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunContext } from '../run/run-context.ts'
import type { HookName, Hooks } from './hooks.ts'

/** A hook failed, and what it decides about must not go on without it. */
export class HookFailure extends ToolloopError {
  /** The hook's name, or what it is. */
  readonly hook: string
  /** What the request that it stood around has used. */
  readonly usage: Usage | undefined

  constructor({ name }: Hooks<never>, what: HookName, cause: unknown, usage?: Usage) {
    const hook = `\`${what}\` hook${name === undefined ? '' : ` \`${name}\``}`
    super('hook_failed', `The run was stopped: the ${hook} failed, and its \`onFailure\` is \`refuse\``, { cause })
    this.hook = name ?? `a ${what} hook`
    this.usage = usage
  }
}

/** What is refused if the hook fails, as the log says it. */
const refused: Readonly<Record<HookName, string>> = {
  beforeModel: 'the run ends',
  afterModel: 'the run ends',
  aroundModel: 'the run ends',
  beforeTool: 'the call is refused',
  afterTool: 'the result is withheld',
  aroundTool: 'its call fails',
}

/** What a hook changes; undefined if it changes nothing, or if it fails and is skipped. Rejects with a `HookFailure`. */
export async function askHook<T extends object>(
  run: RunContext,
  hook: Hooks<never>,
  what: HookName,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const change = await pTimeout(run.untilInterrupted(ask()), { milliseconds: run.limits.toolTimeoutMs })
    return isObject(change) ? change : undefined
  } catch (error) {
    if (failsClosed(run, hook, what, error)) throw new HookFailure(hook, what, error)
    return undefined
  }
}

/** Logs that a hook failed, and says whether what it decides about is refused. */
export function failsClosed(run: RunContext, { name, onFailure }: Hooks<never>, what: HookName, error: unknown): boolean {
  const refuses = (onFailure ?? (what === 'beforeTool' ? 'refuse' : 'skip')) === 'refuse'
  const fields = { runId: run.runId, hook: name ?? '(unnamed)', error: messageOf(error) }
  run.logger.error(fields, `${what} hook failed${refuses ? `: ${refused[what]}` : ' and was skipped'}`)
  return refuses
}

export function isObject<T>(value: T): value is T & object {
  return typeof value === 'object' && value !== null
}
