import { tagsOf } from '../../agent/journal/store.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { Caller, Tenant } from '../http/auth.ts'

/** Checks a tenant. A tenant without fields is refused, because it would include all runs. */
export function isTenant(given: unknown): given is Tenant {
  const values = isJsonObject(given) ? Object.values(given) : []
  return values.length > 0 && values.every((value) => typeof value === 'string' && value !== '')
}

/** Returns the key under which one caller's data is stored. Callers with the same name and different tenants have different keys. */
export function identityOf({ name, tenant }: Pick<Caller, 'name' | 'tenant'>): string {
  return JSON.stringify(tenant === undefined ? [name] : [name, keyOfTenant(tenant)])
}

/** Returns the same key for the same fields, in any order. */
export function keyOfTenant(tenant: Tenant): string {
  return JSON.stringify(Object.entries(tenant).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The properties that decide who sees a run. */
export interface Owned {
  caller: Pick<Caller, 'name'>
  /** Tags of its metadata, made by `tagsOf`. */
  tags?: readonly string[]
}

/** Whether a caller sees a run: the run is in the caller's tenant, and the caller is its owner or an admin. */
export function sees({ name, roles, tenant }: Caller, run: Owned): boolean {
  return hasTags(run, tagsOf(tenant)) && (run.caller.name === name || roles.includes('admin'))
}

/** Whether a run has all of these tags. With the tags of a tenant: whether it is in the tenant. */
export function hasTags({ tags = [] }: Pick<Owned, 'tags'>, wanted: readonly string[]): boolean {
  return wanted.every((tag) => tags.includes(tag))
}
