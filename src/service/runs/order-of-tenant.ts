import type { JsonObject } from '../../core/messages.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RunOrder } from './stored-run.ts'

/**
 * An order with the metadata of its run. The values of the caller's tenant replace those that the program gives all its runs (`own`), which replace
 * those of the request. Throws an `HttpProblem` 403 for a request with other values than the tenant's.
 */
export function orderOfTenant(order: RunOrder, own: JsonObject | undefined): RunOrder {
  const { caller, options } = order
  const { tenant } = caller
  const { metadata: asked } = options
  for (const [field, value] of Object.entries(tenant ?? {})) {
    if (asked === undefined || !Object.hasOwn(asked, field) || asked[field] === value) continue
    const message = `Expected \`metadata.${field}\` to be \`${value}\` or absent: this token belongs to that tenant`
    throw new HttpProblem(403, 'forbidden', message, { param: `metadata.${field}` })
  }
  if (tenant === undefined && asked === undefined && own === undefined) return order
  return { ...order, options: { ...options, metadata: { ...asked, ...own, ...tenant } } }
}
