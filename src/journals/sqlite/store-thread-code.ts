/**
 * The code of the thread. The build replaces it with the text of `store-thread.ts`, because an application's bundle has no such file beside
 * it.
 */
export const workerCode: string | URL = new URL('./store-thread.ts', import.meta.url)
