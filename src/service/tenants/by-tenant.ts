import { tagsOf } from '../../agent/journal/store.ts'
import type { Tenant } from '../http/auth.ts'
import { hasTags, keyOfTenant, type Owned } from './tenant.ts'

/** Maximum number of tenants in memory. If there are more, the least recently used tenant is dropped. */
const mostTenants = 100

/**
 * Holds a `Part` for all runs, and a `Part` for each tenant. Event numbers are counted separately in each part, so a tenant's numbers
 * reveal nothing about other tenants. A tenant's part is created on first use.
 */
export class ByTenant<Part> {
  readonly whole: Part
  readonly #parts = new Map<string, { tags: readonly string[]; part: Part }>()
  readonly #make: (tenant: Tenant | undefined) => Part
  readonly #isUsed: (part: Part) => boolean

  /** `isUsed` says whether a part is in use and must not be dropped. */
  constructor(make: (tenant: Tenant | undefined) => Part, isUsed: (part: Part) => boolean = () => false) {
    this.#make = make
    this.#isUsed = isUsed
    this.whole = make(undefined)
  }

  of(tenant: Tenant | undefined): Part {
    if (tenant === undefined) return this.whole
    const key = keyOfTenant(tenant)
    const found = this.#parts.get(key) ?? { tags: tagsOf(tenant), part: this.#make(tenant) }
    // The map is ordered by last use.
    this.#parts.delete(key)
    this.#parts.set(key, found)
    if (this.#parts.size > mostTenants) this.#dropUnused(key)
    return found.part
  }

  /** Returns the parts that include a run: the common part, and the parts of its tenants. */
  with(run: Pick<Owned, 'tags'>): Part[] {
    const parts = [this.whole]
    for (const { tags, part } of this.#parts.values()) if (hasTags(run, tags)) parts.push(part)
    return parts
  }

  #dropUnused(asked: string): void {
    for (const [key, { part }] of this.#parts) {
      if (key === asked || this.#isUsed(part)) continue
      this.#parts.delete(key)
      return
    }
  }
}
