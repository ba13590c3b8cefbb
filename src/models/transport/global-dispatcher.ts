/** Where Node's `fetch` looks for it, and undici's `setGlobalDispatcher` puts it. */
const slot = Symbol.for('undici.globalDispatcher.1')

let known: unknown

/**
 * Whether Node's `fetch` goes another way than the plain one: over a dispatcher that the application has set, or over the proxies of the
 * environment, for which Node sets one itself. https://nodejs.org/api/globals.html#custom-dispatcher
 */
export function hasGlobalDispatcher(): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, slot)
  if (dispatcher === undefined || dispatcher === known) return false
  if (!isPlainAgent(dispatcher)) return true
  known = dispatcher
  return false
}

/** An `Agent` of undici's that was given no options: what Node sets by itself with the first `fetch`. */
function isPlainAgent(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null || dispatcher.constructor.name !== 'Agent') return false
  // Interceptors stand before its own `dispatch`.
  if (Reflect.get(dispatcher, 'dispatch') !== dispatcher.constructor.prototype.dispatch) return false
  const field = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'options')
  const options: unknown = field && Reflect.get(dispatcher, field)
  if (typeof options !== 'object' || options === null) return false
  return Object.values(options).every((option) => option === undefined || option === Number.POSITIVE_INFINITY)
}
