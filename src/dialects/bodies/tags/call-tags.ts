import { type MarkerSet, markerSet } from '../../reader/markers.ts'

/**
 * The tags of calls in which each argument is an element, and an attribute of the element names the argument: `<invoke name="x"><parameter
 * name="a">1</parameter></invoke>`.
 */
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
  /** Markers before the first call in a wrapper. */
  readonly first: MarkerSet
  /** Markers between parameters. */
  readonly between: MarkerSet
  /** Markers that end any other text between parameters. */
  readonly behindOther: MarkerSet
  /** Markers that may end a value. */
  readonly inValue: MarkerSet
  /** Markers that may follow the end of a value (`afterValue`), and the end of a call (`afterCall`). */
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
