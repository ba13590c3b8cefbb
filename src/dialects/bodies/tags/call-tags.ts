import { type MarkerSet, markerSet } from '../../reader/markers.ts'

/** The tags of calls whose arguments are elements named by an attribute: `<invoke name="x"><parameter name="a">1</parameter></invoke>`. */
export interface Tags {
  /** What begins a call, up to and without its name: `<invoke`, `<function`. */
  readonly call: readonly string[]
  readonly closeCall: readonly string[]
  readonly parameter: readonly string[]
  readonly closeParameter: readonly string[]
  /** Tags around parameters, without meaning. */
  readonly wrap: readonly string[]
  /** What closes the element around the calls. */
  readonly closeWrap: readonly string[]
}

/** Tags, and what is looked for where. */
export interface CallTags extends Tags {
  /** Before the first call of a wrapper. */
  readonly first: MarkerSet
  /** Between parameters. */
  readonly between: MarkerSet
  /** What ends text that has no business between parameters. */
  readonly behindOther: MarkerSet
  /** In a value. */
  readonly inValue: MarkerSet
  /** Behind a value that has ended, and behind a call's end inside a value. */
  readonly afterValue: MarkerSet
  readonly afterCall: MarkerSet
}

export function callTags(tags: Tags): CallTags {
  const { call, closeCall, parameter, closeParameter, wrap, closeWrap } = tags
  return {
    ...tags,
    first: markerSet([...call, ...wrap]),
    between: markerSet([...parameter, ...closeCall, ...wrap, ...closeWrap, '{']),
    behindOther: markerSet(['<!--', ...parameter, ...closeCall, ...closeWrap, ...call]),
    inValue: markerSet([...closeParameter, ...closeCall, ...parameter, ...call]),
    afterValue: markerSet([...parameter, ...closeCall, ...wrap, ...closeWrap]),
    afterCall: markerSet([...call, ...closeWrap]),
  }
}
