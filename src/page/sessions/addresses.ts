import { searchOf } from '../shell/address.ts'

/** Returns the address of a session. It includes the owner, because sessions of different users may have the same name. */
export function sessionHref(session: string, owner: string): string {
  return `#/sessions/${encodeURIComponent(session)}${searchOf({ owner })}`
}
