import type { RunStatus } from '../../core/runs/run-states.ts'

/**
 * Stores the runs that a host application shows, with their owners, events and results. The store is kept beside the journal of the runs.
 * Lists and views of runs read only this store. Any number of processes may use the store at once: each call is one transaction, and is
 * durable when it resolves.
 *
 * Contract: all methods are awaited, and reject with `journal_failed` if the store can't be read or written.
 */
export interface ShownRuns {
  /** Tests whether the store can be written, with about as much data as a new run. Rejects if writing fails. */
  tryWriting?(): Promise<void>
  /**
   * Begins an execution and creates the run if it is new. From now on only this execution can add to the run. A run that is `ended` stays
   * ended. Rejects with `run_taken_over` if the journal has a later execution.
   */
  begin(run: NewShownRun, attempt: Attempt): Promise<BegunRun>
  /** Adds events to a run. Resolves with false if another execution has begun since. */
  append(runId: string, attempt: string, news: ShownNews): Promise<boolean>
  /**
   * Writes a whole execution at once, as `begin`, `append` and `settle` would. This method is for runs without steps in the journal. After
   * `no_room`, the run is shown as running, with its events.
   */
  put(
    run: NewShownRun,
    attempt: string,
    news: ShownNews,
    outcome: ShownOutcome,
    room?: WaitingRoom,
  ): Promise<'settled' | 'changed' | 'no_room'>
  /**
   * Records that the run waits or has ended. If it has ended, deletes its secrets from this store. Resolves with `changed` if the run is no
   * longer in the `expected` state, and with `no_room` if the limits for waiting runs are reached. In these two cases, nothing is written.
   */
  settle(runId: string, expected: ExpectedRun, outcome: ShownOutcome, room?: WaitingRoom): Promise<'settled' | 'changed' | 'no_room'>
  /**
   * Ends waiting runs with `error` instead of a result, and keeps their other data. Resolves with the ids of these runs. `waitingForMs`:
   * ends runs that have waited for longer than this time, by the clock of the store. One call may end only some of them.
   */
  giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): Promise<string[]>
  /**
   * Stores decisions with their authors, each as JSON, until the run is deleted. A second call with the same `note` changes nothing.
   * Resolves with false for an unknown run.
   */
  noteDecisions(runId: string, note: string, decisions: readonly string[]): Promise<boolean>
  /** Removes decisions that were stored but could not be carried out. */
  withdrawDecisions(runId: string, note: string): Promise<void>
  get(runId: string): Promise<ShownRun | undefined>
  /** The run's result as JSON. `''` if the run has no result. */
  result(runId: string): Promise<string>
  /** Returns the state of a waiting run without a journal, as JSON. `''` for any other run. */
  state(runId: string): Promise<string>
  /** Returns the events after the number `after`, as many as fit into one response. Empty only if there are no more events. */
  events(runId: string, after: number): Promise<ShownEvent[]>
  /**
   * Whether a recording is always stored before the steps that the journal records after it. If so, no step has to wait for the recording.
   */
  readonly writesInOrder: boolean
  /**
   * Stores parts of the run's recording. Each part replaces the part with the same name. Resolves with false if another execution has begun
   * since.
   */
  keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Promise<boolean>
  /**
   * Returns a page of the run's recording: the parts whose names sort after `after`, in order. The page has as many parts as fit into one
   * response.
   */
  recording(runId: string, after: string): Promise<RecordingPart[]>
  /** The progress of the given runs. Unknown ids are left out. */
  progress(runIds: readonly string[]): Promise<ShownProgress[]>
  /** Stores messages for a run, as JSON, until the run has read them. Resolves with false if the run takes no more messages. */
  sendMessages(runId: string, messages: readonly string[]): Promise<boolean>
  /** Returns the messages that are stored for the run, without the first `without` messages. */
  messages(runId: string, without: number): Promise<string[]>
  /**
   * Stops accepting messages for the run. `said`: the number of messages that the caller knows. If more are stored, resolves with false and
   * changes nothing.
   */
  closeMessages(runId: string, said: number): Promise<boolean>
  /** Lists runs, newest first, or in the order of the query. */
  list(query: ShownQuery): Promise<ShownPage>
  /** Adds up all runs that match a query, ignoring `limit`, `offset` and `cursor`. */
  sum(query: ShownQuery): Promise<ShownSums>
  /** The sessions of the runs that match a query. The session with the newest run comes first. `offset` and `limit` count sessions. */
  sessions(query: ShownQuery): Promise<ShownSession[]>
  /**
   * Returns ids of runs that are shown as running although their process died at the end of the run. In the journal, these runs do not
   * exist, or stopped running at least `forMs` milliseconds ago.
   */
  unsettled(forMs: number): Promise<string[]>
  /** The number and total size of waiting runs: the runs of one caller, the runs that have all of these tags, or all runs. */
  waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): Promise<{ runs: number; characters: number }>
  /**
   * Whether this process may delete old data. Resolves with true in one process per period. Absent if every process may delete old data.
   */
  mayTidy?(periodMs: number): Promise<boolean>
  /**
   * Deletes the journal's steps of one run, or of all runs. Deletes only steps of runs that are done in this store and that no process
   * executes. The steps of one run may be deleted shortly after the call has resolved.
   */
  clear(runId?: string): Promise<void>
  /**
   * Deletes finished runs that exceed these limits. If there are too many runs or characters, deletes the oldest runs of the caller that
   * has the most. Ages are measured by the clock of the store. Then deletes recordings that exceed their limit, beginning with recordings
   * of finished runs. Resolves with the number of deleted runs.
   */
  forget(bounds: ShownBounds): Promise<number>
}

export interface ShownProgress {
  runId: string
  status: RunStatus
  lastEventId: number
}

export interface NewShownRun {
  runId: string
  caller: string
  agent: string
  /** The kind of the run, chosen by the host application. Default `'run'`. */
  kind?: string | undefined
  /** The chat or thread that the run belongs to. */
  thread?: string | undefined
  /** A digest of the request that started the run. Set if the client may send the request again. */
  request?: string | undefined
  /** Tags derived from the run's metadata by `tagsOf`. The tags are kept as long as the run. Default: none. */
  tags?: readonly string[] | undefined
  /** Milliseconds since 1970. */
  createdAt: number
  /** The title of the run in lists. */
  title: string
  /** Text in lower case that a search finds, in addition to the title. Default: none. */
  words?: string | undefined
  /** The data that the host needs to continue the run, as JSON. `''` if the run is done. */
  head: string
}

/** An execution of a run. For `epoch`, see `Durable.epoch`. */
export interface Attempt {
  attempt: string
  epoch?: number | undefined
}

/** The result of `begin`. Undefined for a run that has ended. */
export type BegunRun = { lastEventId: number } | undefined

export interface ShownEvent {
  id: number
  type: string
  /** The event as JSON. */
  data: string
}

/** A part of a run's recording. The store does not read the content. */
export interface RecordingPart {
  /** The name of the part, in ASCII characters. */
  name: string
  /** The content of the part. `''` removes the part. */
  value: string
}

export interface ShownNews {
  events: readonly ShownEvent[]
  /** The number of the oldest event that is stored. */
  firstEventId: number
  title: string
  /** Texts to hide from now on, in addition to the earlier secrets. */
  secrets: readonly string[]
  /** Whether there were too many secrets, so that no text of the run is shown. */
  hidesAll: boolean
}

/** The state that a run must have for its outcome to be written. */
export interface ExpectedRun {
  status: RunStatus
  attempt?: string
}

export interface ShownOutcome {
  status: Exclude<RunStatus, 'running'>
  stopReason: string
  finishedAt: number
  title: string
  /** Text in lower case that a search finds, in addition to the title. Default: none. */
  words?: string
  /** How long the run has waited for decisions so far, in milliseconds. Default 0. */
  waitedMs?: number | undefined
  costUsd?: number | undefined
  /** Input and output tokens together. */
  tokens?: number | undefined
  /** The number of model requests. */
  turns?: number | undefined
  calls?: number | undefined
  errorCode?: string | undefined
  /** The names of the tools that the run called, without duplicates. */
  tools?: readonly string[] | undefined
  /** The model that was last asked, as `provider/model`. */
  model?: string | undefined
  /** The summary for lists, as JSON. */
  summary: string
  /** The whole result as JSON. If undefined, the current result stays. */
  result?: string
  /** The state of a run that waits without a journal, as JSON. The state is kept until the run is done. */
  state?: string | undefined
}

/** Size limits for waiting runs, in characters of their events, results and states. */
export interface WaitingRoom {
  /** The limit for the state of one run. */
  ofState: number
  ofCaller: number
  ofAll: number
}

export interface ShownRun extends Omit<NewShownRun, 'words' | 'tags' | 'kind'> {
  kind: string
  status: RunStatus
  tags: string[]
  attempt: string
  finishedAt?: number
  /** How long the run has waited for decisions, in milliseconds, not including the current wait. */
  waitedMs: number
  /** How long the run has been waiting or done, in milliseconds, by the clock of the store. */
  settledForMs?: number
  summary?: string
  firstEventId: number
  lastEventId: number
  secrets: string[]
  hidesAll: boolean
  /** The decisions with their authors, in the order in which they were stored. */
  decisions: string[]
}

/** A run in a list. `cursor`: the position after this run, at which the next page begins. */
export type ListedRun = Omit<ShownRun, 'head' | 'tags' | 'secrets' | 'hidesAll' | 'attempt' | 'decisions' | 'settledForMs'> & {
  cursor: string
}

/**
 * The orders of a list. `worked`: the time from the run's start to its end or pause, without waits for decisions. `waited`: the time it has
 * waited for decisions, including the current wait. `model`: the model that was last asked. Runs without a value come last.
 */
export const shownOrders = [
  'started',
  'finished',
  'input',
  'state',
  'model',
  'owner',
  'worked',
  'waited',
  'turns',
  'calls',
  'tokens',
  'cost',
] as const
export type ShownOrder = (typeof shownOrders)[number]

export interface ShownQuery {
  caller?: string | undefined
  /** Only runs whose agent or last model has one of these names. A model's name is `provider/model` or only `model`. */
  models?: readonly string[] | undefined
  thread?: string | undefined
  /** Only runs that have all of these tags. */
  tags?: readonly string[] | undefined
  status?: RunStatus | undefined
  stopReasons?: readonly string[] | undefined
  errorCode?: string | undefined
  /** Only runs that called this tool. */
  tool?: string | undefined
  runIds?: readonly string[] | undefined
  /** Leaves out these runs. */
  notRunIds?: readonly string[] | undefined
  /** Only runs whose searchable text contains each of these texts, in lower case. */
  words?: readonly string[] | undefined
  /** Only runs created at this time or later, in milliseconds since 1970. */
  createdAfter?: number | undefined
  /** Only runs created before this time, in milliseconds since 1970. */
  createdBefore?: number | undefined
  /** Only runs that ended at this time or later (`endedAfter`), or before this time (`endedBefore`). Milliseconds since 1970. */
  endedAfter?: number | undefined
  endedBefore?: number | undefined
  /** Only runs whose known cost is at least this amount. */
  minCostUsd?: number | undefined
  /** Only runs that have worked at least this long, in milliseconds. */
  minWorkedMs?: number | undefined
  /** Default: newest first. */
  order?: { by: ShownOrder; isDescending: boolean } | undefined
  /** An integer ≥ 1. */
  limit: number
  /** The number of runs to skip. Default 0. */
  offset?: number | undefined
  /** The `cursor` of the last run of the previous page. Can't be combined with `order` or `offset`. */
  cursor?: string | undefined
}

export interface ShownPage {
  runs: ListedRun[]
  hasMore: boolean
}

/** Sums over several runs. Unknown values count as 0. */
export interface ShownSums {
  runs: number
  running: number
  waiting: number
  tokens: number
  costUsd: number
  workedMs: number
  waitedMs: number
}

/** The runs of one caller that belong to the same chat or thread. */
export interface ShownSession extends ShownSums {
  thread: string
  caller: string
  createdAt: number
  /** The title of the session's first run. */
  title: string
  /** The newest run of the session, and when it started. */
  latestRunId: string
  latestAt: number
}

export interface ShownBounds {
  runs: number
  ageMs: number
  characters: number
  /** The maximum number of characters of all recordings together. */
  recordingCharacters: number
}
