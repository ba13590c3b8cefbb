/**
 * The code of the thread. The build replaces this URL with the code of `search-worker.ts`, because an application's bundle does not include
 * our files.
 */
export const workerCode: string | URL = new URL('./search-worker.ts', import.meta.url)
