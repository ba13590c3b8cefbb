import { isJsonObject, type Json } from '../../core/messages.ts'
import type { PendingItem } from '../run/result.ts'
import { waitsWithinText } from '../told.ts'
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

/** The item, or an event of it, as it may be shown. */
export function withShownAbout<Item extends Pick<PendingItem, 'about'>>(item: Item): Item {
  return item.about === undefined ? item : { ...item, about: shownAbout(item.about) as Json }
}
