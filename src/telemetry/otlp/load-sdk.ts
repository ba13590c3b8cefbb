import { rethrow, ToolloopError } from '../../core/errors.ts'

/** The packages of the OpenTelemetry SDK that export traces and metrics. */
export type Sdk = typeof import('@opentelemetry/context-async-hooks') &
  typeof import('@opentelemetry/exporter-metrics-otlp-proto') &
  typeof import('@opentelemetry/exporter-trace-otlp-proto') &
  typeof import('@opentelemetry/resources') &
  typeof import('@opentelemetry/sdk-metrics') &
  typeof import('@opentelemetry/sdk-trace')

const names = ['context-async-hooks', 'exporter-metrics-otlp-proto', 'exporter-trace-otlp-proto', 'resources', 'sdk-metrics', 'sdk-trace']

/** Loads the packages. Rejects with `missing_dependency` if one of them is not installed. */
export async function loadSdk(): Promise<Sdk> {
  try {
    return {
      ...(await import('@opentelemetry/context-async-hooks').catch(rethrow)),
      ...(await import('@opentelemetry/exporter-metrics-otlp-proto').catch(rethrow)),
      ...(await import('@opentelemetry/exporter-trace-otlp-proto').catch(rethrow)),
      ...(await import('@opentelemetry/resources').catch(rethrow)),
      ...(await import('@opentelemetry/sdk-metrics').catch(rethrow)),
      ...(await import('@opentelemetry/sdk-trace').catch(rethrow)),
    }
  } catch (cause) {
    const packages = names.map((name) => `@opentelemetry/${name}`).join(' ')
    throw new ToolloopError('missing_dependency', `Exporting telemetry needs packages of OpenTelemetry: npm install ${packages}`, { cause })
  }
}
