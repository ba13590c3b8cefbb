/** What the thread runs. The build puts the code of `store-thread.ts` here, because an application's bundle has no file of ours beside it. */
export const workerCode: string | URL = new URL('./store-thread.ts', import.meta.url)
