import { tagsOf } from '../../agent/journal/store.ts'
import type { Tenant } from '../http/auth.ts'
import { hasTags, keyOfTenant, type Owned } from './tenant.ts'

/** The limit of tenants in memory. Above it, the least recently used one is dropped. */
const mostTenants = 100

/**
 * Keeps one part for all runs, and one for each tenant, whose numbers reveal nothing about other tenants. A tenant's part is created on
 * first use.
 */
export class ByTenant<Part> {
  readonly whole: Part
  readonly #parts = new Map<string, { tags: readonly string[]; part: Part }>()
  readonly #make: (tenant: Tenant | undefined) => Part
  readonly #isUsed: (part: Part) => boolean

  /** `isUsed`: whether a part must not be dropped. */
  constructor(make: (tenant: Tenant | undefined) => Part, isUsed: (part: Part) => boolean = () => false) {
    this.#make = make
    this.#isUsed = isUsed
    this.whole = make(undefined)
  }

  of(tenant: Tenant | undefined): Part {
    if (tenant === undefined) return this.whole
    const key = keyOfTenant(tenant)
    const found = this.#parts.get(key) ?? { tags: tagsOf(tenant), part: this.#make(tenant) }
    // Moves the part to the end of the map, which is ordered by last use.
    this.#parts.delete(key)
    this.#parts.set(key, found)
    if (this.#parts.size > mostTenants) this.#dropUnused(key)
    return found.part
  }

  /** Returns the parts that a run belongs to: the common part, and the parts of its tenants. */
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
