/** The code of the thread. The build replaces it with the text of `vm-worker.ts`, because an archive of packages is no place for a thread's file. */
export const workerCode: string | URL = new URL('./vm-worker.ts', import.meta.url)
