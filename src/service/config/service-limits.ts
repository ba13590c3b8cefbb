import type { Problem } from '../http/problem.ts'
import type { RateLimits } from '../http/rate-limit.ts'
import type { OriginRules } from '../http/request-source.ts'
import type { RunBounds, RunPlace } from '../run-bounds.ts'
import type { Config, ServiceConfig } from './config.ts'

/** The limits of the service, including defaults. */
export interface ServiceLimits extends RateLimits, OriginRules {
  host: string
  port: number
  maxBodyBytes: number
  keepRuns: RunBounds
  runs: RunPlace
  drainMs: number
  hasTokens: boolean
}

/** The default size limit of a request body, in bytes. */
const bodyBytes = 1_048_576
const stateCharacters = 8_000_000

export function readLimits({ service = {} }: Config): ServiceLimits {
  const { keepRuns = {} } = service
  const runs = placeOf(service)
  const inMemory = runs.kind === 'memory'
  return {
    host: service.host ?? '127.0.0.1',
    port: service.port ?? 8787,
    hosts: service.hosts ?? [],
    origins: service.origins ?? [],
    requestsPerMinute: service.requestsPerMinute ?? 1_200,
    concurrentRuns: service.concurrentRuns ?? 100,
    openStreams: service.openStreams ?? 1_000,
    maxBodyBytes: service.maxBodyBytes ?? bodyBytes,
    keepRuns: {
      count: keepRuns.count ?? 500,
      ageMs: (keepRuns.minutes ?? 60) * 60_000,
      characters: (keepRuns.megabytes ?? 64) * 1_000_000,
      waitingMs: (keepRuns.waitingDays ?? 30) * 86_400_000,
      waitingOfCaller: service.waitingRuns ?? 1_000,
      waitingCharacters: (keepRuns.waitingMegabytes ?? (inMemory ? 64 : 256)) * 1_000_000,
      waitingCharactersOfCaller: (service.waitingMegabytes ?? (inMemory ? 32 : 64)) * 1_000_000,
      // The state of a run contains request bodies, so this limit grows in proportion to `maxBodyBytes`.
      stateCharacters: stateCharacters * Math.max(1, (service.maxBodyBytes ?? 0) / bodyBytes),
      eventsOfRun: 5_000,
      charactersOfRun: 2_000_000,
      recordingCharacters: (keepRuns.recordingMegabytes ?? 0) * 1_000_000,
      recordsInMemory: (keepRuns.recordingMegabytes ?? 0) > 0,
    },
    runs,
    drainMs: (service.drainSeconds ?? 20) * 1_000,
    hasTokens: (service.auth?.tokens ?? []).length > 0,
  }
}

function placeOf({ journal, keepRuns = {} }: ServiceConfig): RunPlace {
  if (journal?.kind === 'dbos') return journal
  return keepRuns.folder === undefined ? { kind: 'memory' } : { kind: 'sqlite', folder: keepRuns.folder }
}

/** Returns the problems of settings that contradict each other. */
export function limitProblems({ service = {} }: Config): Problem[] {
  const { journal, keepRuns = {} } = service
  const path = '/service/keepRuns/folder'
  if (journal?.kind === 'sqlite' && keepRuns.folder === undefined)
    return [{ path, message: 'must name the folder of the journal: `service.journal.kind` is sqlite' }]
  if (journal?.kind === 'dbos' && keepRuns.folder !== undefined)
    return [{ path, message: 'must be absent if `service.journal.kind` is dbos: runs in a folder are not moved into the database' }]
  return []
}

/** Returns the settings that take effect only at the start, keyed by their JSON Pointers. */
export function readAtStart(config: Config): Readonly<Record<string, unknown>> {
  const { host, port } = readLimits(config)
  const { keepRuns, journal } = config.service ?? {}
  return {
    '/service/host': host,
    '/service/port': port,
    '/service/keepRuns/folder': keepRuns?.folder,
    '/service/journal': JSON.stringify(journal),
    '/telemetry': JSON.stringify(config.telemetry),
  }
}
