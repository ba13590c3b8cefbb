import { type Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici'

export type Dispatch = Dispatcher['dispatch']

/** The dispatcher that the tests begin with. */
export const original: Dispatcher = getGlobalDispatcher()

export function resetGlobalDispatcher(): void {
  setGlobalDispatcher(original)
}
