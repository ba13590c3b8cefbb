// Texts for models and pages about calls without a result.

/** The output that a page shows for a call of a nested agent. */
export function withinText(agent: string): string {
  return `Its result is part of what the agent \`${agent}\` does.`
}

/** The output that a page shows when a run was approved to exceed its budget. */
export const continuedText = 'The run continues.'

export function waitingText(tool: string): string {
  return `Tool \`${tool}\` was not run: nobody has decided on this call.`
}
