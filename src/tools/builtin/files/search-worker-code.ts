/** What the thread runs. The build puts the code of `search-worker.ts` here, because an application's bundle has no file of ours beside it. */
export const workerCode: string | URL = new URL('./search-worker.ts', import.meta.url)
