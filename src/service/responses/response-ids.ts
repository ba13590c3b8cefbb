/** Returns the id of a response, which is the id of its run in the format of OpenAI's API. */
export function responseIdOf(runId: string): string {
  return runId.replace('run_', 'resp_')
}

export function runIdOf(responseId: string): string {
  return responseId.replace('resp_', 'run_')
}

/** Returns the id of the item at index `at` of a response's output. */
export function itemIdOf(kind: string, responseId: string, at: number): string {
  return `${kind}_${responseId.replace('resp_', '')}_${at}`
}

/** Returns the id of the response that contains an item. Returns undefined if the item's id has another format. */
export function placeOfItem(id: string): string | undefined {
  const [, response] = /^[a-z]{1,16}_([0-9a-f-]{36})_\d{1,9}$/.exec(id) ?? []
  return response === undefined ? undefined : `resp_${response}`
}
