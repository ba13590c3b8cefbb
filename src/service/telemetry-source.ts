import type { Telemetry } from '../agent/observe/telemetry.ts'
import { messageOf, ToolloopError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { OtlpTelemetry } from '../telemetry/otlp/otlp-telemetry.ts'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'

/** How long `close` waits for the last spans and metrics to be sent, in milliseconds. */
const closeMs = 3_000

/** The telemetry of the service: the program's own telemetry, or the telemetry that the configuration has at the start. */
export class TelemetrySource {
  readonly #given: Telemetry | undefined
  readonly #logger: Logger
  #exported: OtlpTelemetry | undefined
  #isOpen = false

  constructor(given: Telemetry | undefined, logger: Logger) {
    this.#given = given
    this.#logger = logger
  }

  get current(): Telemetry | undefined {
    return this.#given ?? this.#exported?.telemetry
  }

  /**
   * Opens the telemetry of a configuration. Only the first configuration has an effect. Rejects with a `ConfigError` or
   * `missing_dependency`.
   */
  async open({ telemetry }: Config): Promise<void> {
    if (this.#isOpen) return
    this.#isOpen = true
    if (telemetry === undefined || this.#given !== undefined) return
    const { otlpTelemetry } = await import('../telemetry/otlp/otlp-telemetry.ts')
    try {
      this.#exported = await otlpTelemetry({ ...telemetry, logger: this.#logger })
    } catch (error) {
      if (!ToolloopError.isInstance(error) || error.code !== 'invalid_option') throw error
      throw new ConfigError('The configuration', [{ path: '/telemetry', message: messageOf(error) }], error)
    }
  }

  async close(): Promise<void> {
    await this.#exported?.close(closeMs)
  }
}
