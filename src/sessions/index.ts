/** `toolloop/sessions`: types for implementing a session store and for reading stored conversations. */

// Session stores: docs/sessions.md

export type { ExpiryOptions } from '../agent/sessions/session-options.ts'
export type {
  Added as SessionAddition,
  Appended as SessionAppended,
  AppendOptions as SessionAppendOptions,
  Claim as SessionClaim,
  Claimed as ClaimedSession,
  ClaimRequest as SessionClaimRequest,
  Draft as SessionDraft,
  Kept as SessionKept,
  NotClaimed as SessionNotClaimed,
  SessionStore,
  StoredSession,
  UnclaimOptions as SessionUnclaimOptions,
} from '../agent/sessions/session-store.ts'
export { Sessions } from '../agent/sessions/sessions.ts'

// Stored conversations: docs/sessions.md

export type { HistoryRun } from '../agent/conversation/agent-history.ts'
export type { SessionPage, SessionQuery, SessionStatus, SessionSummary } from '../agent/sessions/session-store.ts'
export type { ForkOptions, ReadOptions, WaitingRun } from '../agent/sessions/sessions.ts'
