import type { ToolChoice } from '../chat-model.ts'

/** The choice itself where it is among those `taken`; else the nearest one that asks for no more than it; else none. */
export function fitToolChoice(choice: ToolChoice, taken: readonly string[]): ToolChoice | undefined {
  const kind = typeof choice === 'object' ? 'named' : choice
  if (taken.includes(kind)) return choice
  return kind === 'named' && taken.includes('required') ? 'required' : undefined
}

/** What a response's warnings say when another choice was sent than the one that was asked for. */
export function choiceWarning(asked: ToolChoice, sent: ToolChoice | undefined, provider: string): string {
  const what = sent === undefined ? 'nothing was' : `'${String(sent)}' was`
  return `The tool choice ${JSON.stringify(asked)} is not taken by ${provider}; ${what} sent instead`
}
