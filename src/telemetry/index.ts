/** `toolloop/telemetry`: OpenTelemetry for runs: spans, events and metrics by the conventions for generative AI. */
export type { Telemetry } from '../agent/observe/telemetry.ts'
export { type OtlpOptions, type OtlpTelemetry, otlpTelemetry } from './otlp/otlp-telemetry.ts'
export { type SemanticConventions, type TelemetryOptions, telemetry } from './telemetry.ts'
