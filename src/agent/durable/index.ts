/** `toolloop/durable`: types for writing a journal or an engine, and for reading recorded runs. */

// Journals and engines: docs/your-own-journal.md

export type { Durable, DurableBody, Engine, Journal, KeptRun, RecordEntry, StepContext } from '../journal/journal.ts'

// Recorded runs: docs/durable-runs.md

export type { RunStatus } from '../../core/runs/run-states.ts'
export type { PruneOptions, RunPage, RunQuery, RunSummary } from '../journal/journal.ts'
export type { Restored, RunToRestore } from '../types/options.ts'
export type { JournalRun, RecoveredRun, RecoverOptions, StoredResult } from './runs.ts'

// Resuming a state without a journal: docs/approvals.md

export type { Claim, ResumeClaim } from '../decisions/resume-claim.ts'
