import type { EventName, RunEvent } from '../../core/events.ts'

/** Receives the events of one run. */
export interface EventTap {
  /** The events it receives. Undefined: all. May change during the run. */
  readonly wanted: ReadonlySet<EventName> | undefined
  /** Contract: called synchronously. Must not throw. */
  take(event: RunEvent): void
  /**
   * Whether the watcher can discard the part it has seen of a response that breaks off: `MODEL_RETRY` with `discards` follows. `hasText`:
   * text is part of it. Default: it can.
   */
  takesBack?(hasText: boolean): boolean
  /** Called before an event with the texts that are removed from it as secrets. Contract: called synchronously. Must not throw. */
  hide?(texts: readonly string[]): void
}
