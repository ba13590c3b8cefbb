import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** A model server that may be running on this machine. */
export interface LocalServer {
  /** Its provider's name in `provider/model`. */
  provider: 'ollama' | 'lmstudio' | 'vllm'
  /** `http://host:port/v1` */
  baseURL: string
}

export interface FoundServer extends LocalServer {
  /** Ids of its chat models, those first that are known to call tools. Empty: it runs, but has none. */
  models: string[]
}

/** Where each server listens by default, and the variable that says otherwise: a port, `host`, `host:port` or a URL. */
const servers = [
  // https://docs.ollama.com/faq#how-do-i-configure-ollama-server
  { provider: 'ollama', variable: 'OLLAMA_HOST', port: 11434 },
  // https://lmstudio.ai/docs/developer/core/server
  { provider: 'lmstudio', variable: 'LMSTUDIO_HOST', port: 1234 },
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
  { provider: 'vllm', variable: 'VLLM_HOST', port: 8000 },
] as const

/** The servers to look for, in order of preference. */
export function localServers(env: Readonly<Record<string, string | undefined>>): LocalServer[] {
  return servers.map(({ provider, variable, port }) => ({ provider, baseURL: `${originOf(env[variable], port)}/v1` }))
}

/** `0.0.0.0` is an address to listen at, not one to connect to. */
function originOf(host: string | undefined, port: number): string {
  const given = host?.trim() ?? ''
  if (given === '') return `http://127.0.0.1:${port}`
  const hasScheme = /^https?:\/\//i.test(given)
  const withPort = hasScheme || /:\d+$/.test(given) ? given : `${given}:${port}`
  const url = URL.parse(hasScheme ? given : `http://${withPort.replace(/^:/, '127.0.0.1:')}`)
  if (url === null) return `http://127.0.0.1:${port}`
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  return url.origin
}

/** The servers that answer within `withinMs`, all asked at once, in their order. Never rejects: what does not answer is not there. */
export async function findServers(candidates: readonly LocalServer[], withinMs: number, signal?: AbortSignal): Promise<FoundServer[]> {
  const found = await Promise.all(
    candidates.map(async (server) => {
      const list = server.provider === 'ollama' ? listOllamaModels : listModels
      const models = await list(server.baseURL, withinMs, signal).catch(() => undefined)
      return models === undefined ? undefined : { ...server, models }
    }),
  )
  return found.filter((server) => server !== undefined)
}

/** Ids of the chat models an OpenAI-compatible server has. Rejects when it does not answer in time, or with something else. */
export async function listModels(baseURL: string, withinMs: number, signal?: AbortSignal): Promise<string[]> {
  const models = await fetchList(`${baseURL.replace(/\/+$/, '')}/models`, 'data', withinMs, signal)
  return models.flatMap(({ id }) => (typeof id === 'string' && !isEmbeddingName(id) ? [id] : []))
}

/** The same of Ollama, whose own list says what each model can do: https://docs.ollama.com/api/tags */
async function listOllamaModels(baseURL: string, withinMs: number, signal?: AbortSignal): Promise<string[]> {
  const models = await fetchList(new URL('/api/tags', baseURL).href, 'models', withinMs, signal)
  const chatModels = models.flatMap(({ name, capabilities }) => {
    if (typeof name !== 'string') return []
    // Older servers don't say.
    if (!Array.isArray(capabilities)) return isEmbeddingName(name) ? [] : [{ name, callsTools: false }]
    return capabilities.includes('completion') ? [{ name, callsTools: capabilities.includes('tools') }] : []
  })
  return [...chatModels.filter(({ callsTools }) => callsTools), ...chatModels.filter(({ callsTools }) => !callsTools)].map(
    ({ name }) => name,
  )
}

function isEmbeddingName(name: string): boolean {
  return /embed/i.test(name)
}

/** The objects in a body's `field`. Rejects for a body that has no such list. */
async function fetchList(url: string, field: string, withinMs: number, signal: AbortSignal | undefined): Promise<JsonObject[]> {
  const limit = AbortSignal.timeout(withinMs)
  const response = await fetch(url, {
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    redirect: 'error',
    headers: { accept: 'application/json' },
  })
  const body: unknown = response.ok ? await response.json() : await response.body?.cancel()
  // Any other server may listen at such a port; only this shape is a model server's. Ollama without models may send null.
  const list = isJsonObject(body) ? body[field] : undefined
  if (!Array.isArray(list) && list !== null) {
    throw new Error(`Expected a list of models from ${url}, got a different response with status ${response.status}`)
  }
  return (list ?? []).filter(isJsonObject)
}
