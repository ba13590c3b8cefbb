/**
 * Results that are too long for the conversation: kept aside, and read by the model in parts with the tool `read_result`. They are kept until
 * the run ends, in its journal if it has one.
 */
export interface LargeResultOptions {
  /** A result with more bytes of text (UTF-8) is kept aside, and `read_result` gives at most so many at once. At most `maxResultBytes`, the default. */
  overBytes?: number
  /** How many bytes of its beginning the model is shown, and is given by `read_result` if it asks for no length. Default 8 192. */
  shownBytes?: number
  /**
   * Most bytes that a run keeps, with the runs inside its calls; a result that does not fit any more is cut (`maxResultBytes`). `Infinity`:
   * no limit. Default 33 554 432.
   */
  keptBytes?: number
}
