/**
 * The code of the thread. The build replaces this with the code of `store-thread.ts`, because an application's bundle does not include our
 * files.
 */
export const workerCode: string | URL = new URL('./store-thread.ts', import.meta.url)
