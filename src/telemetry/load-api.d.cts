/** The package `@opentelemetry/api`. */
export function loadApi(): typeof import('@opentelemetry/api')
