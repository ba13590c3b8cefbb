import type { ToolChoice } from '../chat-model.ts'

/**
 * Returns the choice if the server accepts it. If the choice names a tool and the server accepts only `required`, returns `required`.
 * Otherwise returns undefined.
 */
export function fitToolChoice(choice: ToolChoice, taken: readonly string[]): ToolChoice | undefined {
  const kind = typeof choice === 'object' ? 'named' : choice
  if (taken.includes(kind)) return choice
  return kind === 'named' && taken.includes('required') ? 'required' : undefined
}

/** Returns the warning that another choice or no choice was sent. */
export function choiceWarning(asked: ToolChoice, sent: ToolChoice | undefined, provider: string): string {
  const what = sent === undefined ? 'nothing was' : `'${String(sent)}' was`
  return `The tool choice ${JSON.stringify(asked)} is not supported by ${provider}; ${what} sent instead`
}
