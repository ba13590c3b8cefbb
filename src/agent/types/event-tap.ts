import type { EventName, RunEvent } from '../../core/events.ts'

/** Receives the events of one run. */
export interface EventTap {
  /** The events it wants; undefined for all. May change while the run goes on. */
  readonly wanted: ReadonlySet<EventName> | undefined
  /** Called synchronously. Must not throw. */
  take(event: RunEvent): void
  /**
   * Whether what was taken of a response that breaks off can be taken back: `MODEL_RETRY` with `discards` follows. `hasText`: text is a part of
   * it. Default: it can.
   */
  takesBack?(hasText: boolean): boolean
  /** Called with texts that are taken out of an event as secrets, before that. Must not throw. */
  hide?(texts: readonly string[]): void
}
