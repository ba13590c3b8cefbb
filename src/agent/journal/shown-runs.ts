import type { RunStatus } from '../../core/runs/run-states.ts'

/**
 * What a host shows of its runs, kept beside the journal they go on from: whose they are, their events, what they came to. A list or a
 * view reads nothing else. Any number of processes may use it at once: each call is one transaction, and has outlived the process when
 * it resolves. Rejects with `journal_failed` where it can't be read or written.
 */
export interface ShownRuns {
  /** Writes something, as much as a run that starts. Rejects if it can't be stored. Absent: that can't be tried. */
  tryWriting?(): Promise<void>
  /**
   * An execution begins: from now on only it adds to the run, which is made if it is new. One that is `ended` stays so. Rejects with `run_taken_over`
   * if the journal has a later execution.
   */
  begin(run: NewShownRun, attempt: Attempt): Promise<BegunRun>
  /** Adds events; false where another execution has begun since. */
  append(runId: string, attempt: string, news: ShownNews): Promise<boolean>
  /**
   * Writes a whole execution at once: what `begin`, `append` and `settle` would, in that order. For runs that have no steps in the journal. After
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
   * The run waits, or is over: then no secret of it is kept here any more, see `clear` for the journal. `changed`: it is not as `expected` any
   * more. `no_room`: it was to wait, and there is no room for that. Nothing has happened then.
   */
  settle(runId: string, expected: ExpectedRun, outcome: ShownOutcome, room?: WaitingRoom): Promise<'settled' | 'changed' | 'no_room'>
  /**
   * Ends runs that wait, without a result of their own: what is known of them stays. Resolves with their ids; a few at a time of those that have waited
   * for longer than `waitingForMs`, by the clock of the store.
   */
  giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): Promise<string[]>
  /** Keeps who has decided what, each as JSON, for as long as the run. The same `note` again changes nothing. False for a run that is not known. */
  noteDecisions(runId: string, note: string, decisions: readonly string[]): Promise<boolean>
  /** What was noted could not be carried out. */
  withdrawDecisions(runId: string, note: string): Promise<void>
  get(runId: string): Promise<ShownRun | undefined>
  /** Its result as JSON; `''`: it has none. */
  result(runId: string): Promise<string>
  /** What a run that waits continues from, as JSON, if that is not in the journal; `''`: there is nothing. */
  state(runId: string): Promise<string>
  /** Events behind the one of that number, as many as there is room for in one answer; none only where there are none. */
  events(runId: string, after: number): Promise<ShownEvent[]>
  /**
   * Whether a recording's parts are there before a step that is recorded after they were handed over, so that nobody has to wait for them.
   */
  readonly writesInOrder: boolean
  /** Keeps parts of the run's recording, each in place of the one of its name; false where another execution has begun since. */
  keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Promise<boolean>
  /** Parts of the run's recording whose names come behind `after`, in that order, as `events` has them. */
  recording(runId: string, after: string): Promise<RecordingPart[]>
  /** How far runs are, those that are known. */
  progress(runIds: readonly string[]): Promise<ShownProgress[]>
  /** Keeps what is said to a run, as JSON, until it is taken up; false where nothing can be said to it any more. */
  say(runId: string, messages: readonly string[]): Promise<boolean>
  /** What was said to the run, without the first so many messages. */
  said(runId: string, without: number): Promise<string[]>
  /** Nothing can be said to the run from now on. False, and nothing has happened, where more than so many messages were said. */
  hush(runId: string, said: number): Promise<boolean>
  /** The newest first. */
  list(query: ShownQuery): Promise<ShownPage>
  /** Runs that are shown as going on, though for so many milliseconds they have not been by the journal: their process died as they ended. */
  unsettled(forMs: number): Promise<string[]>
  /** How many wait, and how large they are together: of one caller, with all of these tags, or of all. */
  waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): Promise<{ runs: number; characters: number }>
  /**
   * Deletes what the journal keeps of runs that are done here, the raw steps, unless somebody carries them out still: from then on there is only
   * what is shown. Of one run, or of all.
   */
  clear(runId?: string): Promise<void>
  /**
   * Deletes runs that are done and beyond these bounds (their age by the clock of the store), the oldest first, and recordings for which there is no room, first those of runs that are
   * done. Resolves with how many runs.
   */
  forget(bounds: ShownBounds): Promise<number>
}

/** How far a run is. */
export interface ShownProgress {
  runId: string
  status: RunStatus
  lastEventId: number
}

export interface NewShownRun {
  runId: string
  caller: string
  agent: string
  /** What the host calls runs of its kind. Default `'run'`. */
  kind?: string | undefined
  /** The chat or thread that it belongs to. */
  thread?: string | undefined
  /** Digest of the request that has started it, if that may be sent again. */
  request?: string | undefined
  /** Those of its metadata, by `tagsOf`. Kept as long as the run. Default: none. */
  tags?: readonly string[] | undefined
  /** Milliseconds since 1970. */
  createdAt: number
  /** What it is listed by. */
  title: string
  /** What it is found by besides its title, in lower case. Default: nothing. */
  words?: string | undefined
  /** What the host has to know to go on with it, as JSON; `''`: it is done. */
  head: string
}

/** An execution of a run. `epoch`: see `Durable.epoch`. */
export interface Attempt {
  attempt: string
  epoch?: number | undefined
}

/** Undefined for one that is done. */
export type BegunRun = { lastEventId: number } | undefined

export interface ShownEvent {
  id: number
  type: string
  /** JSON. */
  data: string
}

/** A part of a run's recording. The run's owner knows what it has. */
export interface RecordingPart {
  /** ASCII. */
  name: string
  /** `''`: there is nothing any more. */
  value: string
}

export interface ShownNews {
  events: readonly ShownEvent[]
  /** The oldest event that is kept. */
  firstEventId: number
  title: string
  /** Values that must not be shown, those that are new. */
  secrets: readonly string[]
  /** There were too many of them: no text of it is shown. */
  hidesAll: boolean
}

/** What a run has to be for its outcome to be written. */
export interface ExpectedRun {
  status: RunStatus
  attempt?: string
}

export interface ShownOutcome {
  status: Exclude<RunStatus, 'running'>
  stopReason: string
  finishedAt: number
  title: string
  /** What it is found by besides its title, in lower case. Default: nothing. */
  words?: string
  costUsd?: number | undefined
  /** The model that was asked last, as `provider/model`. */
  model?: string | undefined
  /** As JSON: what a list shows of it. */
  summary: string
  /** As JSON: the whole result; undefined: the one that is there stays. */
  result?: string
  /** See `state`; kept until the run is done. */
  state?: string | undefined
}

/** How much may wait, in characters of events, results, and what runs go on from. */
export interface WaitingRoom {
  /** What one run goes on from. */
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
  /** For how long it has waited or been done, in milliseconds, by the clock of the store. */
  settledForMs?: number
  summary?: string
  firstEventId: number
  lastEventId: number
  secrets: string[]
  hidesAll: boolean
  /** Who has decided what, in the order in which it was noted. */
  decisions: string[]
}

/** A run as a list has it; `cursor` is where the page behind it begins. */
export type ListedRun = Omit<ShownRun, 'head' | 'tags' | 'secrets' | 'hidesAll' | 'attempt' | 'decisions' | 'settledForMs'> & {
  cursor: string
}

export interface ShownQuery {
  caller?: string | undefined
  /** The agent's name, or the model that was asked last, of runs that have ended or wait. */
  model?: string | undefined
  thread?: string | undefined
  /** Only runs that have each of them. */
  tags?: readonly string[] | undefined
  status?: RunStatus | undefined
  stopReason?: string | undefined
  runIds?: readonly string[] | undefined
  /** Without these runs. */
  notRunIds?: readonly string[] | undefined
  /** Texts in lower case, each of which has to be in what the run is found by. */
  words?: readonly string[] | undefined
  /** Milliseconds since 1970: at or behind it. */
  createdAfter?: number | undefined
  /** Milliseconds since 1970. */
  createdBefore?: number | undefined
  /** Only runs that are known to have cost as much. */
  minCostUsd?: number | undefined
  /** An integer ≥ 1. */
  limit: number
  /** That of the last run of the page before. */
  cursor?: string | undefined
}

export interface ShownPage {
  runs: ListedRun[]
  /** Whether there are others behind them. */
  hasMore: boolean
}

export interface ShownBounds {
  runs: number
  ageMs: number
  characters: number
  /** Most characters of all recordings. */
  recordingCharacters: number
}
