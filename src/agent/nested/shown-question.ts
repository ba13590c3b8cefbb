import { isDeepEqual } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { redact, redactText, secretTexts } from '../../core/redaction/redact.ts'
import { waitsWithinText } from '../told.ts'
import type { PendingItem } from '../types/result.ts'
import { itemsWithin } from './items-within.ts'

/**
 * What of a question may be shown. That of an MCP server has the state its call goes on from, which is for no one's eyes but the program's. An agent
 * inside a call asks for decisions on items of its own, which are shown by themselves.
 */
export function shownAbout(about: unknown): unknown {
  if (!isJsonObject(about)) return about
  if (typeof about.mcpServer === 'string') {
    const { state: _state, ...shown } = about
    return shown
  }
  return itemsWithin(about, '', '') === undefined ? about : waitsWithinText(String(about.agent))
}

/** The item, or an event of it, with what may be shown of its question. */
export function withShownAbout<Item extends Pick<PendingItem, 'about'>>(item: Item): Item {
  return item.about === undefined ? item : { ...item, about: shownAbout(item.about) as Json }
}

/** The item as it may be shown: without the secrets of its arguments, too. */
export function shownItem({ secrets, ...item }: PendingItem): PendingItem {
  const shown = withShownAbout(item)
  if (secrets === undefined) return shown
  const names = new Set(secrets)
  const { script } = item
  const line = script && { script: { ...script, code: redactText(script.code, secretTexts(item.args, names), names) } }
  return { ...shown, args: redact(item.args, names) as JsonObject, ...line }
}

/**
 * The arguments that somebody has decided on, with the values that were hidden from them. What they changed is kept, even if it stood for a hidden
 * value.
 */
export function withHidden(given: JsonObject, { args, secrets }: Pick<PendingItem, 'args' | 'secrets'>): JsonObject {
  return secrets === undefined ? given : (restored(given, args, redact(args, new Set(secrets))) as JsonObject)
}

function restored(given: unknown, original: unknown, shown: unknown): unknown {
  if (isDeepEqual(given, shown)) return original
  if (!isJsonObject(given) || !isJsonObject(original) || !isJsonObject(shown)) return given
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, Object.hasOwn(shown, key) ? restored(value, original[key], shown[key]) : value]),
  )
}
