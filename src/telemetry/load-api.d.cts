/** The package `@opentelemetry/api`. */
export function loadApi(): typeof import('@opentelemetry/api', { with: { 'resolution-mode': 'import' }})
