import { createHash } from 'node:crypto'
import { hashOf } from '../../core/digest.ts'
import type { Json } from '../../core/messages.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Call } from '../http/route.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import { identityOf } from '../tenants/tenant.ts'

/** Starts a run with this id. `request` is the digest of the request. At most one call is in progress for each key. */
export type Begin = (id: string, request: string | undefined) => Promise<ServiceRun>

/** The header of a request that can be repeated safely, as documented in the API. */
export const idempotencyKey = {
  name: 'idempotency-key',
  description: 'Up to 255 characters of your choice: requests with the same key start one run, as long as that run is stored.',
}

const longestKey = 255

/**
 * Starts one run for each `Idempotency-Key` of a caller. A repeated request starts no second run, even if it arrives while the first run is
 * starting.
 */
export class StartOnce {
  readonly #runs: Pick<RunStore, 'get'>
  readonly #starting = new Map<string, Promise<ServiceRun>>()

  constructor(runs: Pick<RunStore, 'get'>) {
    this.#runs = runs
  }

  /**
   * Returns the run that an earlier request with the same key has started. Returns undefined if the key is new, or if the request has no
   * key. Rejects with an `HttpProblem`: 400 if the key is invalid, or 422 if another request has used the key.
   */
  async startedBy(call: Call): Promise<ServiceRun | undefined> {
    const id = idOf(call)
    if (id === undefined) return undefined
    return this.#checked(await (this.#starting.get(id) ?? this.#known(id, call)), call)
  }

  /**
   * Starts a run with `begin`, unless a request with the same key has already started one. In that case, returns the existing run. Without
   * a key, the new run gets the id `otherwise`.
   */
  async start(call: Call, otherwise: string, begin: Begin): Promise<ServiceRun> {
    const id = idOf(call)
    if (id === undefined) return begin(otherwise, undefined)
    const starting = this.#starting.get(id) ?? this.#begin(id, call, begin)
    return (await this.#checked(await starting, call)) as ServiceRun
  }

  async #begin(id: string, call: Call, begin: Begin): Promise<ServiceRun> {
    const started = (async () => (await this.#known(id, call)) ?? (await begin(id, digestOf(call))))()
    this.#starting.set(id, started)
    try {
      return await started
    } finally {
      this.#starting.delete(id)
    }
  }

  async #known(id: string, { caller }: Call): Promise<ServiceRun | undefined> {
    try {
      return await this.#runs.get(id, caller)
    } catch (error) {
      if (error instanceof HttpProblem && error.status === 404) return undefined
      throw error
    }
  }

  #checked(run: ServiceRun | undefined, call: Call): ServiceRun | undefined {
    const { request } = run?.head ?? {}
    if (request === undefined || request === digestOf(call)) return run
    const message = 'Expected a new `Idempotency-Key`: a run was started with this one, by another request'
    throw new HttpProblem(422, 'idempotency_key_reused', message, { param: 'idempotency-key' })
  }
}

/**
 * Returns the id of the run for the key of a request. Returns undefined if the request has no key. Throws an `HttpProblem` 400 if the key
 * is invalid.
 */
function idOf({ request, caller, url }: Call): string | undefined {
  const key = request.headers.get('idempotency-key')
  if (key === null) return undefined
  if (key === '' || key.length > longestKey) {
    const message = `Expected \`Idempotency-Key\` to have 1 to ${longestKey} characters, got ${key.length}`
    throw new HttpProblem(400, 'invalid_request', message, { param: 'idempotency-key' })
  }
  const hex = createHash('sha256')
    .update(JSON.stringify([identityOf(caller), url.pathname, key]))
    .digest('hex')
  const [, ...parts] = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(hex) ?? []
  return `run_${parts.join('-')}`
}

function digestOf({ body, url }: Call): string {
  return hashOf([body as Json, url.search])
}
