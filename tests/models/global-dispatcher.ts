export type Dispatch = (options: object, handler: object) => boolean
/** What is used here of a dispatcher of undici, of any version. */
export interface Dispatcher {
  dispatch(options: object, handler: object): boolean
  on(event: string, listener: () => void): unknown
  close(): Promise<void>
  compose(around: (dispatch: Dispatch) => Dispatch): Dispatcher
}

const globals = globalThis as { [key: symbol]: Dispatcher | undefined }
/** Where undici's `setGlobalDispatcher`, of any copy of it, puts a dispatcher. */
const slot = Symbol.for('undici.globalDispatcher.1')
/** Where undici 8 puts it, as Node 26 has it; then a wrapper is in the other place. */
const newerSlot = Symbol.for('undici.globalDispatcher.2')
// Sets Node's own, if nobody has asked for anything yet.
const older = globalThis.Headers && globals[slot]
if (older === undefined) throw new Error('Expected Node to have a global dispatcher')
// A late undici 7 that some test has loaded fills both places with the same.
const newer = older.constructor.name === 'Dispatcher1Wrapper' ? globals[newerSlot] : undefined
const Wrapper = older.constructor as new (wrapped: Dispatcher) => Dispatcher

/** Node's own. */
export const original: Dispatcher = newer ?? older
export const Agent = original.constructor as new (options?: object) => Dispatcher

/** As the undici does that Node has. */
export function setGlobalDispatcher(dispatcher: Dispatcher): void {
  globals[slot] = newer === undefined ? dispatcher : new Wrapper(dispatcher)
  if (newer !== undefined) globals[newerSlot] = dispatcher
}

export function resetGlobalDispatcher(): void {
  globals[slot] = older
  if (newer !== undefined) globals[newerSlot] = newer
}
