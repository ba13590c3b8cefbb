import type { EventName, RunEvent } from '../../core/events.ts'

/** Receives the events of one run. */
export interface EventTap {
  /** The names of the events to receive. Undefined for all events. May change during the run. */
  readonly wanted: ReadonlySet<EventName> | undefined
  /** Contract: called synchronously. Must not throw. */
  take(event: RunEvent): void
  /**
   * Whether the recipient can discard the part of a broken-off response that it has received. If so, an event `MODEL_RETRY` with `discards`
   * tells it to discard the part. `hasText`: whether the part includes text. Without this method, the recipient can discard it.
   */
  takesBack?(hasText: boolean): boolean
  /** Called before an event, with the texts that were removed from it as secrets. Contract: called synchronously. Must not throw. */
  hide?(texts: readonly string[]): void
}
