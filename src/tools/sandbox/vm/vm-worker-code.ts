/**
 * The code of the thread. The build replaces this URL with the text of `vm-worker.ts`, because a thread can't load a file inside an
 * archive.
 */
export const workerCode: string | URL = new URL('./vm-worker.ts', import.meta.url)
