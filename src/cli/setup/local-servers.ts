import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** A model server that may be running on this machine. */
export interface LocalServer {
  /** The name of the provider, as in `provider/model`. */
  provider: 'ollama' | 'lmstudio' | 'vllm'
  /** The URL, as `http://host:port/v1`. */
  baseURL: string
}

export interface FoundServer extends LocalServer {
  /** The ids of the server's chat models. Models that are known to call tools come first. Empty if the server runs but has no models. */
  models: string[]
}

/** The default port of each server, and the variable that overrides it. Its value is a port, `host`, `host:port` or a URL. */
const servers = [
  // https://docs.ollama.com/faq#how-do-i-configure-ollama-server
  { provider: 'ollama', variable: 'OLLAMA_HOST', port: 11434 },
  // https://lmstudio.ai/docs/developer/core/server
  { provider: 'lmstudio', variable: 'LMSTUDIO_HOST', port: 1234 },
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
  { provider: 'vllm', variable: 'VLLM_HOST', port: 8000 },
] as const

/** Returns the servers to look for, in order of preference. */
export function localServers(env: Readonly<Record<string, string | undefined>>): LocalServer[] {
  return servers.map(({ provider, variable, port }) => ({ provider, baseURL: `${originOf(env[variable], port)}/v1` }))
}

/** Returns the address to connect to. Replaces `0.0.0.0`, which is only an address to listen on. */
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

/**
 * Returns the servers that answer within `withinMs`, in the order of `candidates`. All servers are asked at once. Never rejects: a server
 * that doesn't answer is left out.
 */
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

/**
 * Returns the ids of the chat models of an OpenAI-compatible server. Rejects if the server doesn't answer in time, or if the response is
 * not a list of models.
 */
export async function listModels(baseURL: string, withinMs: number, signal?: AbortSignal): Promise<string[]> {
  const models = await fetchList(`${baseURL.replace(/\/+$/, '')}/models`, 'data', withinMs, signal)
  return models.flatMap(({ id }) => (typeof id === 'string' && !isEmbeddingName(id) ? [id] : []))
}

/** Like `listModels`, for Ollama, whose own API lists the capabilities of each model: https://docs.ollama.com/api/tags */
async function listOllamaModels(baseURL: string, withinMs: number, signal?: AbortSignal): Promise<string[]> {
  const models = await fetchList(new URL('/api/tags', baseURL).href, 'models', withinMs, signal)
  const chatModels = models.flatMap(({ name, capabilities }) => {
    if (typeof name !== 'string') return []
    // Older versions of Ollama don't report capabilities.
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

/** Returns the objects in the `field` of a response. Rejects if the field is not a list. */
async function fetchList(url: string, field: string, withinMs: number, signal: AbortSignal | undefined): Promise<JsonObject[]> {
  const limit = AbortSignal.timeout(withinMs)
  const response = await fetch(url, {
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    redirect: 'error',
    headers: { accept: 'application/json' },
  })
  const body: unknown = response.ok ? await response.json() : await response.body?.cancel()
  // Another kind of server may listen on this port, so the shape of the response is checked. Ollama may send null if it has no models.
  const list = isJsonObject(body) ? body[field] : undefined
  if (!Array.isArray(list) && list !== null) {
    throw new Error(`Expected a list of models from ${url}, got a different response with status ${response.status}`)
  }
  return (list ?? []).filter(isJsonObject)
}
