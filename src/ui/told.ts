// What a model is told of a call that a client's conversation has, and that has no result.

export function waitingText(tool: string): string {
  return `Tool \`${tool}\` was not run: nobody has decided on this call.`
}
