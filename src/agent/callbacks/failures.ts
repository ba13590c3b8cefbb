import { ToolloopError } from '../../core/errors.ts'
import type { Usage } from '../../core/messages.ts'
import type { Callback } from './callbacks.ts'

/** A hook or an entry failed, and what it decides about must not continue without it. */
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

/** An entry of `plan` stopped a request. */
export class RequestStopped extends ToolloopError {
  constructor(name: string | undefined, reason: unknown) {
    super('guardrail', `The run was stopped by ${name}: ${String(reason)}`)
  }
}
