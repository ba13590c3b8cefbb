import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { createModel } from '../../models/create-model.ts'
import type { ModelSettings } from '../../models/settings.ts'
import type { ConfigSource } from '../config/config-source.ts'

export interface TestedProvider {
  ok: boolean
  provider?: string
  model?: string
  durationMs: number
  /** The model's answer. */
  text?: string
  error?: { code: string; message: string; path?: string }
}

interface TestOrder {
  /** The model: a name from the configuration's `models`, `provider/model`, or settings. */
  model: string | JsonObject
  /** Settings of providers, by name. They override `providers` in the configuration. */
  providers?: JsonObject
  /** The time limit of the test, in milliseconds. Default 15,000. */
  timeoutMs?: number
}

/** Sends one short request to a model. Never rejects, because a failure is a result of the test. */
export async function testProvider(
  { model: given, providers: unsaved = {}, timeoutMs = 15_000 }: TestOrder,
  config: ConfigSource,
  signal: AbortSignal,
): Promise<TestedProvider> {
  const started = performance.now()
  const duration = () => Math.round(performance.now() - started)
  const fail = (code: string, message: string, path?: string): TestedProvider => ({
    ok: false,
    durationMs: duration(),
    error: { code, message: redactText(message), path },
  })
  const { models = {}, providers } = config.config
  const { value, problems } = config.resolve({ model: given, providers: unsaved })
  const [problem] = problems
  if (problem !== undefined) return fail('invalid_option', `The setting ${problem.message}`, problem.path)
  const wanted = typeof given === 'string' ? (Object.hasOwn(models, given) ? models[given] : given) : value.model
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const model = createModel(askedOnce(wanted as string | ModelSettings), {
      providers: { ...providers, ...(value.providers as NonNullable<typeof providers>) },
    })
    const asked = await model.generate({
      messages: [{ role: 'user', content: 'Answer with the one word: ready' }],
      maxOutputTokens: 64,
      signal: AbortSignal.any([signal, timeout]),
    })
    return { ok: true, provider: model.provider, model: asked.model ?? model.model, durationMs: duration(), text: asked.text.slice(0, 200) }
  } catch (error) {
    if (timeout.aborted) return fail('timeout', `The model did not answer within ${timeoutMs} ms`)
    return fail(ToolloopError.isInstance(error) ? error.code : 'failed', messageOf(error))
  }
}

/** Returns settings that select the same model and turn retries off. */
function askedOnce(model: string | ModelSettings): string | ModelSettings {
  if (typeof model !== 'string') return { ...model, maxRetries: 0 }
  const slash = model.indexOf('/')
  return slash < 1 ? model : { provider: model.slice(0, slash), model: model.slice(slash + 1), maxRetries: 0 }
}
