/** A response has the id of its run, named as clients of this API know it. */
export function responseIdOf(runId: string): string {
  return runId.replace('run_', 'resp_')
}

export function runIdOf(responseId: string): string {
  return responseId.replace('resp_', 'run_')
}

/** Of the item that is at this place in a response's output. */
export function itemIdOf(kind: string, responseId: string, at: number): string {
  return `${kind}_${responseId.replace('resp_', '')}_${at}`
}

/** The response that an item of that id was made in; undefined for an id of another form. */
export function placeOfItem(id: string): string | undefined {
  const [, response] = /^[a-z]{1,16}_([0-9a-f-]{36})_\d{1,9}$/.exec(id) ?? []
  return response === undefined ? undefined : `resp_${response}`
}
