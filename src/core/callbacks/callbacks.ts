import { show } from '../errors.ts'

/** The result of a callback: a value, or a promise of a value. */
export type Awaitable<T> = T | Promise<T>

/** Whether a callback returned a promise. Throws if reading `then` throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  const mayHaveThen = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return mayHaveThen && 'then' in value && typeof value.then === 'function'
}

/**
 * Calls a callback without awaiting it. If the callback throws or rejects, the error is passed to `onFailure` and not rethrown. Promises
 * are handled, too: a function type that returns `void` also accepts async functions. Errors of `onFailure` itself are ignored.
 */
export function callUnawaited(call: () => unknown, onFailure: (error: unknown) => unknown = ignore): void {
  try {
    handleRejectionOf(call(), (error) => report(onFailure, error))
  } catch (error) {
    report(onFailure, error)
  }
}

function report(onFailure: (error: unknown) => unknown, error: unknown): void {
  if (onFailure !== ignore) callUnawaited(() => onFailure(error))
}

/**
 * Returns the value that a synchronous callback returned. If the value is a promise, throws a `TypeError` and ignores the promise's
 * rejection.
 */
export function syncAnswer<T>(name: string, returned: T): T {
  if (!isThenable(returned)) return returned
  handleRejection(returned, ignore)
  throw new TypeError(`Expected \`${name}\` to answer at once, got a promise`)
}

/** Returns the text that a callback returned. Throws a `TypeError` for any other value. */
export function syncText(name: string, returned: unknown): string {
  const text = syncAnswer(name, returned)
  if (typeof text !== 'string') throw new TypeError(`Expected \`${name}\` to return a text, got \`${show(text)}\``)
  return text
}

/** Handles the rejection of a promise that a callback returned. An unhandled rejection would end the process. */
export function handleRejectionOf(returned: unknown, onRejected: (error: unknown) => void): void {
  if (isThenable(returned)) handleRejection(returned, onRejected)
}

function handleRejection(promise: PromiseLike<unknown>, onRejected: (error: unknown) => void): void {
  // A foreign `then` may throw, or resolve with another thenable that rejects. A new promise handles both.
  new Promise((resolve) => resolve(promise)).catch(onRejected)
}

function ignore(): void {}
