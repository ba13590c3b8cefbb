import { searchOf } from '../shell/address.ts'

/** The owner is included, because sessions of different users may have the same name. */
export function sessionHref(session: string, owner: string): string {
  return `#/sessions/${encodeURIComponent(session)}${searchOf({ owner })}`
}
