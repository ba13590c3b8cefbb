import { isJsonObject, type Json } from '../../core/messages.ts'
import type { PendingItem } from '../run/result.ts'

/**
 * What of a question may be shown. That of an agent inside a call, or of an MCP server, has the state its call goes on from, which is for no
 * one's eyes but the program's.
 */
export function shownAbout(about: unknown): unknown {
  if (!isJsonObject(about)) return about
  if (typeof about.mcpServer === 'string') {
    const { state: _state, ...shown } = about
    return shown
  }
  if (typeof about.agent !== 'string' || !Array.isArray(about.pending)) return about
  const { state: _state, ...shown } = about
  return { ...shown, pending: about.pending.map((item) => (isJsonObject(item) ? withShownAbout(item) : item)) }
}

/** The item, or an event of it, as it may be shown. */
export function withShownAbout<Item extends Pick<PendingItem, 'about'>>(item: Item): Item {
  return item.about === undefined ? item : { ...item, about: shownAbout(item.about) as Json }
}
