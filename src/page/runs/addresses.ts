export function runHref(id: string): string {
  return `#/runs/${encodeURIComponent(id)}`
}

/** The address for comparing two runs. An empty id means that the run is still to be chosen. */
export function compareHref(first: string, second = ''): string {
  return `#/runs/${encodeURIComponent(first)}~${encodeURIComponent(second)}`
}

/** The runs in such an address; undefined for another address. */
export function comparedIn(param: string | undefined): [first: string, second: string] | undefined {
  const at = param?.indexOf('~') ?? -1
  return param === undefined || at < 0 ? undefined : [param.slice(0, at), param.slice(at + 1)]
}
