export function runHref(id: string): string {
  return `#/runs/${encodeURIComponent(id)}`
}

/** The address of two runs that are compared; without one of them, that it is to be chosen. */
export function compareHref(first: string, second = ''): string {
  return `#/runs/${encodeURIComponent(first)}~${encodeURIComponent(second)}`
}

/** The runs of such an address; undefined: it is another one. */
export function comparedIn(param: string | undefined): [first: string, second: string] | undefined {
  const at = param?.indexOf('~') ?? -1
  return param === undefined || at < 0 ? undefined : [param.slice(0, at), param.slice(at + 1)]
}
