import type { RunEvent } from '../../src/core/events.ts'

/** What a reader of a run's events sees: pieces that were taken back are gone. */
export class Watcher {
  readonly events: RunEvent[] = []
  /** The current turn. */
  text = ''
  reasoning = ''
  /** Unfinished calls, by id. */
  calls = new Map<string, string>()
  /** The texts of all turns. */
  readonly texts: string[] = []

  take(event: RunEvent): void {
    this.events.push(event)
    const { type } = event
    if (type === 'MODEL_START' || (type === 'MODEL_RETRY' && event.discards)) {
      this.text = ''
      this.reasoning = ''
      this.calls.clear()
    }
    if (type === 'TEXT_DELTA') this.text += event.text
    else if (type === 'REASONING_DELTA') this.reasoning += event.text
    else if (type === 'TOOL_INPUT_START') this.calls.set(event.id, '')
    else if (type === 'TOOL_INPUT_DELTA') this.calls.set(event.id, (this.calls.get(event.id) ?? '') + event.json)
    else if (type === 'MODEL_END') this.texts.push(this.text)
  }

  /** How many responses were taken back. */
  get discarded(): number {
    return this.events.filter((event) => event.type === 'MODEL_RETRY' && event.discards).length
  }
}
