import { type MarkerSet, markerSet } from '../../reader/markers.ts'

/** The tags of calls whose arguments are elements named by an attribute: `<invoke name="x"><parameter name="a">1</parameter></invoke>`. */
export interface Tags {
  /** The start of a call's tag, before its name: `<invoke`, `<function`. */
  readonly call: readonly string[]
  readonly closeCall: readonly string[]
  readonly parameter: readonly string[]
  readonly closeParameter: readonly string[]
  /** Tags that are ignored and may surround parameters. */
  readonly wrap: readonly string[]
  /** Closes the element around the calls. */
  readonly closeWrap: readonly string[]
}

/** Tags, and the markers that end each part of a call. */
export interface CallTags extends Tags {
  /** Before the first call of a wrapper. */
  readonly first: MarkerSet
  /** Between parameters. */
  readonly between: MarkerSet
  /** Markers that end other text between parameters. */
  readonly behindOther: MarkerSet
  /** Inside a value. */
  readonly inValue: MarkerSet
  /** After the end of a value, and after the end of a call inside a value. */
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
