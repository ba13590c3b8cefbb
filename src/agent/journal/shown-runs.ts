import type { RunStatus } from '../../core/runs/run-states.ts'

/**
 * The runs that a host shows, kept beside their journal: their owners, events and results. Lists and views read nothing else. Any number of
 * processes may use it at once: each call is one transaction, and is durable when it resolves. Rejects with `journal_failed` if the store
 * can't be read or written.
 */
export interface ShownRuns {
  /** Writes about as much as a run that starts. Rejects if it can't be stored. Absent: that can't be tested. */
  tryWriting?(): Promise<void>
  /**
   * Begins an execution: from now on only it adds to the run, which is created if it is new. A run that is `ended` stays ended. Rejects
   * with `run_taken_over` if the journal has a later execution.
   */
  begin(run: NewShownRun, attempt: Attempt): Promise<BegunRun>
  /** Adds events. Resolves with false if another execution has begun since. */
  append(runId: string, attempt: string, news: ShownNews): Promise<boolean>
  /**
   * Writes a whole execution at once: like `begin`, `append` and `settle`, in that order. For runs that have no steps in the journal. After
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
   * Records that the run waits or is over. Once it is over, no secret of it is kept here any more; for the journal, see `clear`. `changed`:
   * it no longer is as `expected`. `no_room`: it was to wait, and there is no room for that. In both cases nothing was written.
   */
  settle(runId: string, expected: ExpectedRun, outcome: ShownOutcome, room?: WaitingRoom): Promise<'settled' | 'changed' | 'no_room'>
  /**
   * Ends runs that wait, without a result: what is known of them stays. Resolves with their ids. Ends a few at a time of those that have
   * waited longer than `waitingForMs`, by the clock of the store.
   */
  giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): Promise<string[]>
  /**
   * Keeps decisions with their authors, each as JSON, for as long as the run. Repeating a `note` changes nothing. Resolves with false for
   * an unknown run.
   */
  noteDecisions(runId: string, note: string, decisions: readonly string[]): Promise<boolean>
  /** Removes noted decisions that could not be carried out. */
  withdrawDecisions(runId: string, note: string): Promise<void>
  get(runId: string): Promise<ShownRun | undefined>
  /** Its result as JSON. `''`: it has none. */
  result(runId: string): Promise<string>
  /** Returns the state of a waiting run without a journal, as JSON. `''` for any other run. */
  state(runId: string): Promise<string>
  /** The events after the one with that number, as many as one answer can hold. Empty only if there are no more. */
  events(runId: string, after: number): Promise<ShownEvent[]>
  /** Whether parts of a recording are stored before any step that is recorded after them, so that nothing has to wait for them. */
  readonly writesInOrder: boolean
  /** Stores parts of the run's recording, each replacing the one of its name. Resolves with false if another execution has begun since. */
  keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Promise<boolean>
  /** The parts of the run's recording whose names follow `after`, in order, as many as one answer can hold. */
  recording(runId: string, after: string): Promise<RecordingPart[]>
  /** The progress of those runs that are known. */
  progress(runIds: readonly string[]): Promise<ShownProgress[]>
  /** Stores messages to a run, as JSON, until it has read them. Resolves with false if it takes no more messages. */
  say(runId: string, messages: readonly string[]): Promise<boolean>
  /** The messages to the run after the first `without`. */
  said(runId: string, without: number): Promise<string[]>
  /** Ends the messages to the run. Resolves with false, and changes nothing, if there are more than `said` messages. */
  hush(runId: string, said: number): Promise<boolean>
  /** Lists runs, newest first, or in the order of the query. */
  list(query: ShownQuery): Promise<ShownPage>
  /** Adds up all runs that match a query, whatever its page. */
  sum(query: ShownQuery): Promise<ShownSums>
  /** The sessions of the runs that match a query, the one with the newest run first. `offset` and `limit` count sessions. */
  sessions(query: ShownQuery): Promise<ShownSession[]>
  /**
   * Runs that are shown as running although, by the journal, they have not been for this many milliseconds: their process died as they
   * ended.
   */
  unsettled(forMs: number): Promise<string[]>
  /** The number and the total size of waiting runs: of one caller, with all of these tags, or of all. */
  waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): Promise<{ runs: number; characters: number }>
  /**
   * Deletes the journal's raw steps of one run, or of all runs, that are done here and that no process executes any more. Only what is
   * shown remains.
   */
  clear(runId?: string): Promise<void>
  /**
   * Deletes runs that are done and beyond these bounds (their age by the clock of the store), oldest first, and recordings for which there
   * is no room, first those of runs that are done. Resolves with the number of runs.
   */
  forget(bounds: ShownBounds): Promise<number>
}

/** The progress of a run. */
export interface ShownProgress {
  runId: string
  status: RunStatus
  lastEventId: number
}

export interface NewShownRun {
  runId: string
  caller: string
  agent: string
  /** The host's name for runs of its kind. Default `'run'`. */
  kind?: string | undefined
  /** The chat or thread that it belongs to. */
  thread?: string | undefined
  /** Digest of the request that started it, if that may be sent again. */
  request?: string | undefined
  /** The tags of its metadata, by `tagsOf`. Kept as long as the run. Default: none. */
  tags?: readonly string[] | undefined
  /** Milliseconds since 1970. */
  createdAt: number
  /** Its title in lists. */
  title: string
  /** The text that a search finds it by besides its title, in lower case. Default: none. */
  words?: string | undefined
  /** What the host needs to continue it, as JSON. `''`: it is done. */
  head: string
}

/** An execution of a run. For `epoch`, see `Durable.epoch`. */
export interface Attempt {
  attempt: string
  epoch?: number | undefined
}

/** Undefined for a run that is done. */
export type BegunRun = { lastEventId: number } | undefined

export interface ShownEvent {
  id: number
  type: string
  /** JSON. */
  data: string
}

/** A part of a run's recording. Only the run's owner knows its content. */
export interface RecordingPart {
  /** ASCII. */
  name: string
  /** `''`: the part is removed. */
  value: string
}

export interface ShownNews {
  events: readonly ShownEvent[]
  /** The number of the oldest event that is kept. */
  firstEventId: number
  title: string
  /** The new values that must not be shown. */
  secrets: readonly string[]
  /** There were too many secrets: no text of the run is shown. */
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
  /** The text that a search finds it by besides its title, in lower case. Default: none. */
  words?: string
  /** How long it has waited for decisions so far, in milliseconds. Default 0. */
  waitedMs?: number | undefined
  costUsd?: number | undefined
  /** Input and output tokens together. */
  tokens?: number | undefined
  /** The number of model requests. */
  turns?: number | undefined
  calls?: number | undefined
  /** The code of its error. */
  errorCode?: string | undefined
  /** The tools that it called, each once. */
  tools?: readonly string[] | undefined
  /** The model that was asked last, as `provider/model`. */
  model?: string | undefined
  /** The summary for lists, as JSON. */
  summary: string
  /** The whole result as JSON. Undefined: the current one stays. */
  result?: string
  /** See `state`. Kept until the run is done. */
  state?: string | undefined
}

/** How much may wait, in characters of events, results and states. */
export interface WaitingRoom {
  /** Of the state of one run. */
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
  /** How long it has waited for decisions, without a wait that continues, in milliseconds. */
  waitedMs: number
  /** How long it has waited or been done, in milliseconds, by the clock of the store. */
  settledForMs?: number
  summary?: string
  firstEventId: number
  lastEventId: number
  secrets: string[]
  hidesAll: boolean
  /** The decisions with their authors, in the order in which they were noted. */
  decisions: string[]
}

/** A run in a list. `cursor` is where the next page begins. */
export type ListedRun = Omit<ShownRun, 'head' | 'tags' | 'secrets' | 'hidesAll' | 'attempt' | 'decisions' | 'settledForMs'> & {
  cursor: string
}

/**
 * What a list can be sorted by. `worked`: the time from its start to its end or pause, without waits for decisions. `waited`: including a
 * wait that continues. `model`: the one that was asked last. Runs without a value come last.
 */
export const runOrders = [
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
export type RunOrder = (typeof runOrders)[number]

export interface ShownQuery {
  caller?: string | undefined
  /** Names, one of which is the agent’s, or that of the model that was asked last: `provider/model`, or only `model`. */
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
  /** Without these runs. */
  notRunIds?: readonly string[] | undefined
  /** Texts in lower case, each of which the run's searchable text must contain. */
  words?: readonly string[] | undefined
  /** Milliseconds since 1970, inclusive. */
  createdAfter?: number | undefined
  /** Milliseconds since 1970. */
  createdBefore?: number | undefined
  /** Only runs that have ended at this time or later, and before that one. Milliseconds since 1970. */
  endedAfter?: number | undefined
  endedBefore?: number | undefined
  /** Only runs whose known cost is at least this. */
  minCostUsd?: number | undefined
  /** Only runs that have worked at least this long, in milliseconds. */
  minWorkedMs?: number | undefined
  /** Default: the newest run first. */
  order?: { by: RunOrder; isDescending: boolean } | undefined
  /** An integer ≥ 1. */
  limit: number
  /** The number of runs to skip. Default 0. */
  offset?: number | undefined
  /** The `cursor` of the last run of the previous page. Only without `order` and `offset`. */
  cursor?: string | undefined
}

export interface ShownPage {
  runs: ListedRun[]
  /** Whether more runs follow. */
  hasMore: boolean
}

/** Runs added up. What isn't known of a run counts as 0. */
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
  /** The title of its first run. */
  title: string
  /** Its newest run, and when that started. */
  latestRunId: string
  latestAt: number
}

export interface ShownBounds {
  runs: number
  ageMs: number
  characters: number
  /** Maximum characters of all recordings. */
  recordingCharacters: number
}
