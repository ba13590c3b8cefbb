/** What a caller may bound. Several reached at once: the run ends with the first of deadline, budget, max_iterations, repeated_calls. */
export interface RunLimits {
  /** Milliseconds for the whole run. A running request or tool is aborted when they are over. Stop reason `deadline`. */
  deadlineMs?: number
  /**
   * Tokens of all model requests together, those of nested runs included. No request is sent once they are used up or reserved for requests in
   * flight, so that the overrun is at most one request for each concurrent call. Stop reason `budget`, as for the next two.
   */
  tokens?: number
  /** US dollars of all model requests together, counted as `tokens` are. The model needs a price or must report its cost. */
  costUsd?: number
  /** Tool calls that may run, those of nested runs included. Calls beyond it are answered with "not run". */
  toolCalls?: number
  /**
   * How often the very same call (name, arguments and result) may be repeated. Then the model is told once; if it repeats the call again the run
   * ends with `repeated_calls`. A call whose result changes, as a poll's does, is no repeat; neither is one between which the model has made a
   * call that is new. Default 3; `Infinity` switches the breaker off.
   */
  repeatedCalls?: number
  /**
   * How many turns back repeated calls are looked for, so that calls in turn (A, B, A, B) are noticed: cycles of up to half as many turns. 1: only
   * calls that are repeated from one turn to the next. Default 8.
   */
  repeatWindow?: number
  /** How deep runs may be nested inside each other's tool calls. Of the outermost run; default 5. */
  depth?: number
}
