import { InvalidOptionError } from '../../core/errors.ts'
import { anthropicMessagesWire } from './wires/anthropic-messages.ts'
import { chatCompletionsWire } from './wires/chat-completions.ts'
import { geminiGenerateContentWire } from './wires/gemini-generate-content.ts'
import { responsesWire } from './wires/responses.ts'
import type { MockWire, WireName } from './wires/wire.ts'

/** Every wire format the mock provider speaks. A request is the first one's that routes it. */
const wires: readonly MockWire[] = [chatCompletionsWire, responsesWire, anthropicMessagesWire, geminiGenerateContentWire]

/** The wire a request is for, by its path, and what it is for. An unknown path gets its error in the first wire's words. */
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
