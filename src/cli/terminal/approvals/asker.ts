import type { AnyTool } from '../../../tools/tool.ts'
import type { Lines } from '../lines.ts'

/** Asks questions of the person at the terminal. */
export interface Asker extends Pick<Lines, 'ask' | 'choose' | 'lend'> {
  /** The tools of the run. */
  tools: readonly AnyTool[]
}
