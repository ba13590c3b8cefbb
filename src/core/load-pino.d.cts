/** The package `pino`, loaded when this is first called. */
export function loadPino(): typeof import('pino')
