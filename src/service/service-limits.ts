import type { Config } from './config/config.ts'
import type { OriginRules } from './http/check-origin.ts'
import type { RateLimits } from './http/rate-limit.ts'
import type { RunBounds } from './runs/run-store.ts'

/** The bounds of the service, defaults filled in. */
export interface ServiceLimits extends RateLimits, OriginRules {
  host: string
  port: number
  maxBodyBytes: number
  keepRuns: RunBounds
  /** Undefined: runs are in memory only. */
  runsFolder?: string
  drainMs: number
  /** Whether the configuration has tokens of its own. */
  hasTokens: boolean
}

/** The limits of a configuration, with defaults for those it leaves out. */
export function readLimits({ service = {} }: Config): ServiceLimits {
  const { keepRuns = {} } = service
  return {
    host: service.host ?? '127.0.0.1',
    port: service.port ?? 8787,
    hosts: service.hosts ?? [],
    origins: service.origins ?? [],
    requestsPerMinute: service.requestsPerMinute ?? 1_200,
    concurrentRuns: service.concurrentRuns ?? 100,
    openStreams: service.openStreams ?? 1_000,
    maxBodyBytes: service.maxBodyBytes ?? 1_048_576,
    keepRuns: {
      count: keepRuns.count ?? 500,
      ageMs: (keepRuns.minutes ?? 60) * 60_000,
      characters: (keepRuns.megabytes ?? 64) * 1_000_000,
      pausedMs: (keepRuns.pausedDays ?? 30) * 86_400_000,
      pausedOfCaller: service.pausedRuns ?? 1_000,
      // Without a folder they are in memory.
      pausedCharacters: (keepRuns.pausedMegabytes ?? (keepRuns.folder === undefined ? 64 : 256)) * 1_000_000,
      pausedCharactersOfCaller: (service.pausedMegabytes ?? (keepRuns.folder === undefined ? 32 : 64)) * 1_000_000,
      eventsOfRun: 5_000,
      charactersOfRun: 2_000_000,
    },
    runsFolder: keepRuns.folder,
    drainMs: (service.drainSeconds ?? 20) * 1_000,
    hasTokens: (service.auth?.tokens ?? []).length > 0,
  }
}

/** Settings that are read at the start only, by their JSON Pointers. */
export function readAtStart(config: Config): Readonly<Record<string, unknown>> {
  const { host, port, runsFolder } = readLimits(config)
  return { '/service/host': host, '/service/port': port, '/service/keepRuns/folder': runsFolder }
}
