import { show } from '../errors.ts'

/** What a callback may return at once or later. */
export type Awaitable<T> = T | Promise<T>

/** Whether a callback has returned a promise. Throws what a `then` that can't be read throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  const mayHaveThen = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return mayHaveThen && 'then' in value && typeof value.then === 'function'
}

/**
 * Calls a callback that nobody waits for. Whatever it throws or rejects with goes to `onFailure`, and no further: an async function fits where the
 * types say `void`, and a rejection that nobody handles ends the process. `onFailure` may be a callback, too.
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

/** What a callback has returned that has to answer at once. Throws a `TypeError` for a promise, and handles its rejection. */
export function syncAnswer<T>(name: string, returned: T): T {
  if (!isThenable(returned)) return returned
  handleRejection(returned, ignore)
  throw new TypeError(`Expected \`${name}\` to answer at once, got a promise`)
}

/** The text that a callback has returned. Throws a `TypeError` for anything else. */
export function syncText(name: string, returned: unknown): string {
  const text = syncAnswer(name, returned)
  if (typeof text !== 'string') throw new TypeError(`Expected \`${name}\` to return a text, got \`${show(text)}\``)
  return text
}

/** Handles the rejection of what a callback has returned, if that is a promise: one that nobody handles ends the process. */
export function handleRejectionOf(returned: unknown, onRejected: (error: unknown) => void): void {
  if (isThenable(returned)) handleRejection(returned, onRejected)
}

function handleRejection(promise: PromiseLike<unknown>, onRejected: (error: unknown) => void): void {
  // Not `promise.then`: a thenable may throw there, or resolve with another that rejects.
  new Promise((resolve) => resolve(promise)).catch(onRejected)
}

function ignore(): void {}
