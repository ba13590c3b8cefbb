import { lastText, type RunView } from '../core/runs/index.ts'
import type { RunEnding } from './web/run-ending.ts'

/** Returns the part of the answer that was not streamed: the result of a `final` tool, or an answer that had to match a schema. */
export function unsaidText(view: RunView, { text, stopReason }: RunEnding): string {
  const isAnswer = stopReason !== undefined && stopReason !== 'paused' && stopReason !== 'aborted'
  return isAnswer && !lastText(view).endsWith(text) ? text : ''
}
