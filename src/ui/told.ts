// What models and pages are told of calls that have no result.

/** What a page shows as the output of a call that an agent inside another call has made. */
export function withinText(agent: string): string {
  return `Its result is part of what the agent \`${agent}\` does.`
}

/** What a page shows as the output of a run that continues over its budget. */
export const continuedText = 'The run continues.'

export function waitingText(tool: string): string {
  return `Tool \`${tool}\` was not run: nobody has decided on this call.`
}
