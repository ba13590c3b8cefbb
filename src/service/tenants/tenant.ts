import { tagsOf } from '../../agent/journal/store.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { Caller, Tenant } from '../http/auth.ts'

/** Whether a value is a tenant. A tenant without fields is refused, because it would include all runs. */
export function isTenant(given: unknown): given is Tenant {
  const values = isJsonObject(given) ? Object.values(given) : []
  return values.length > 0 && values.every((value) => typeof value === 'string' && value !== '')
}

/** Returns the key under which the data of one caller is stored. Callers with the same name and different tenants have different keys. */
export function identityOf({ name, tenant }: Pick<Caller, 'name' | 'tenant'>): string {
  return JSON.stringify(tenant === undefined ? [name] : [name, keyOfTenant(tenant)])
}

/** Returns the key of a tenant. It doesn't depend on the order of the fields. */
export function keyOfTenant(tenant: Tenant): string {
  return JSON.stringify(Object.entries(tenant).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The properties of a run that determine who sees it. */
export interface Owned {
  caller: Pick<Caller, 'name'>
  /** The tags of the run's metadata, as `tagsOf` returns them. */
  tags?: readonly string[]
}

/** Whether a caller sees a run. The run must be in the caller's tenant, and the caller must be its owner or an admin. */
export function sees({ name, roles, tenant }: Caller, run: Owned): boolean {
  return hasTags(run, tagsOf(tenant)) && (run.caller.name === name || roles.includes('admin'))
}

/** Whether a run has all of these tags, for example the tags of a tenant. */
export function hasTags({ tags = [] }: Pick<Owned, 'tags'>, wanted: readonly string[]): boolean {
  return wanted.every((tag) => tags.includes(tag))
}
