import { digestOf } from '../../core/digest.ts'
import { type ModelRequest, type Sampling, samplingNames } from '../../models/chat-model.ts'
import type { RunSettings } from '../types.ts'

/** What of a run's settings a request says. */
type RequestSettings = Sampling & Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'cacheKey' | 'providerOptions'>

/** What every request says, as the settings want it. What nobody chose is left to the driver. `session`: the id of the run's session. */
export function requestOf(settings: RequestSettings, signal: AbortSignal | undefined, session?: string): Omit<ModelRequest, 'messages'> {
  const request: Omit<ModelRequest, 'messages'> = { signal }
  for (const name of requestSettings) if (settings[name] !== undefined) Object.assign(request, { [name]: settings[name] })
  // Ids of sessions may say who somebody is: a provider is given their digest.
  const cacheKey = settings.cacheKey ?? (session === undefined ? undefined : digestOf(session))
  if (cacheKey !== undefined && cacheKey !== false) request.cacheKey = cacheKey
  if (settings.stream === false) request.stream = false
  return request
}

const requestSettings = [...(Object.keys(samplingNames) as (keyof Sampling)[]), 'streamIdleTimeoutMs', 'providerOptions'] as const
