import { type Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici'

export type Dispatch = Dispatcher['dispatch']

/** The dispatcher at the start of the tests. */
export const original: Dispatcher = getGlobalDispatcher()

export function resetGlobalDispatcher(): void {
  setGlobalDispatcher(original)
}
