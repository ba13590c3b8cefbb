import { InvalidOptionError } from '../../core/errors.ts'
import { anthropicMessagesWire } from './wires/anthropic-messages.ts'
import { chatCompletionsWire } from './wires/chat-completions.ts'
import { geminiGenerateContentWire } from './wires/gemini-generate-content.ts'
import { responsesWire } from './wires/responses.ts'
import type { MockWire, WireName } from './wires/wire.ts'

/** The wire formats that the mock provider speaks. A request belongs to the first format whose `route` accepts it. */
const wires: readonly MockWire[] = [chatCompletionsWire, responsesWire, anthropicMessagesWire, geminiGenerateContentWire]

/**
 * Returns the wire format and the purpose of a request with this path. For an unknown path, returns the first format, in which the error is
 * encoded.
 */
export function chooseWire(method: string, path: string): { wire: MockWire; purpose: 'generate' | 'models' | undefined; path: string } {
  const bare = path.replace(/\?.*$/s, '')
  for (const wire of wires) {
    const purpose = wire.route(method, bare)
    if (purpose !== undefined) return { wire, purpose, path: bare }
  }
  return { wire: chatCompletionsWire, purpose: undefined, path: bare }
}

export function findWire(name: WireName): MockWire {
  const wire = wires.find((candidate) => candidate.name === name)
  if (wire === undefined) throw new InvalidOptionError('wire', `one of ${wires.map((known) => known.name).join(', ')}`, name)
  return wire
}
