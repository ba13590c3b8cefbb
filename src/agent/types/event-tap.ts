import type { EventName, RunEvent } from '../../core/events.ts'

/** Receives the events of one run. */
export interface EventTap {
  /** The events it receives. Undefined for all events. May change during the run. */
  readonly wanted: ReadonlySet<EventName> | undefined
  /** Contract: called synchronously. Must not throw. */
  take(event: RunEvent): void
  /**
   * Whether the watcher can discard the part of a broken-off response that it has received. If so, the part is discarded by `MODEL_RETRY`
   * with `discards`. `hasText`: whether that part includes text. Default: true.
   */
  takesBack?(hasText: boolean): boolean
  /** Called before an event, with the texts that were removed from it as secrets. Contract: called synchronously. Must not throw. */
  hide?(texts: readonly string[]): void
}
