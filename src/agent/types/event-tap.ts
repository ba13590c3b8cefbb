import type { EventName, RunEvent } from '../../core/events.ts'

/** Receives the events of one run. */
export interface EventTap {
  /** The names of the events to receive. Undefined for all events. May change during the run. */
  readonly wanted: ReadonlySet<EventName> | undefined
  /** Contract: called synchronously. Must not throw. */
  take(event: RunEvent): void
  /**
   * Whether the recipient can discard the received part of a response that broke off. `hasText`: whether the part includes text. A
   * `MODEL_RETRY` event with `discards` then tells the recipient to discard the part. If this method is absent, the recipient can discard
   * any part.
   */
  takesBack?(hasText: boolean): boolean
  /** Called before an event, with the texts that were removed from it as secrets. Contract: called synchronously. Must not throw. */
  hide?(texts: readonly string[]): void
}
