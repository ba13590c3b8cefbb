import { tagsOf } from '../../agent/journal/tags.ts'
import type { Tenant } from '../http/auth.ts'
import { hasTags, keyOfTenant, type Owned } from './tenant.ts'

/** If there are more, the one that nobody has asked for the longest is dropped. */
const mostTenants = 100

/**
 * Keeps something about all runs, and again about the runs of each tenant, so that its numbers say nothing about other tenants. A tenant's part is made
 * when it is first asked for.
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
    // The last in the map is the one asked for last.
    this.#parts.delete(key)
    this.#parts.set(key, found)
    if (this.#parts.size > mostTenants) this.#dropUnused(key)
    return found.part
  }

  /** The parts that a run belongs to: the whole, and those of its tenants. */
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
