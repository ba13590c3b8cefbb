/** The package `ajv` for draft-07, loaded when this is first called. */
export function loadAjv(): typeof import('ajv')
/** The same for 2020-12. */
export function loadAjv2020(): typeof import('ajv/dist/2020.js')
/** The package `ajv-formats`, loaded when this is first called. */
export function loadAjvFormats(): typeof import('ajv-formats')
