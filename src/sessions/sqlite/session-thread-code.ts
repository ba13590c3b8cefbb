/**
 * The code of the worker thread. The build replaces the URL with the code itself, because the file may be missing after an application is
 * bundled.
 */
export const workerCode: string | URL = new URL('./session-thread.ts', import.meta.url)
